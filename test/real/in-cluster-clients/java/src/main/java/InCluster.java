import com.google.gson.Gson;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.apis.AuthenticationV1Api;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.openapi.models.V1SelfSubjectReview;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.Namespaces;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/**
 * An in-cluster program with the Java client: ClientBuilder.cluster, a list, a shared informer. It prints one JSON
 * object a line; the suite beside it says what the lines mean.
 */
public class InCluster {
  private static final Gson GSON = new Gson();
  private static final long SYNC_POLL_MS = 20;

  public static void main(String[] arguments) throws Exception {
    ApiClient client = ClientBuilder.cluster().build();
    String namespace = Namespaces.getPodNamespace();
    CoreV1Api core = new CoreV1Api(client);
    whoAmI(client);
    List<String> pods =
        core.listNamespacedPod(namespace).execute().getItems().stream().map(pod -> pod.getMetadata().getName()).toList();
    say(Map.of("step", "pods", "names", pods));
    write(core, namespace);
    follow(client, core, namespace);
    // The client's thread pools outlive their last request by a minute.
    System.exit(0);
  }

  private static synchronized void say(Map<String, Object> line) {
    System.out.println(GSON.toJson(line));
  }

  private static void whoAmI(ApiClient client) throws Exception {
    V1SelfSubjectReview review =
        new AuthenticationV1Api(client).createSelfSubjectReview(new V1SelfSubjectReview()).execute();
    say(Map.of("step", "identity", "user", review.getStatus().getUserInfo().getUsername()));
  }

  private static void write(CoreV1Api core, String namespace) throws Exception {
    V1ConfigMap own = new V1ConfigMap().metadata(new V1ObjectMeta().name("own")).data(Map.of("phase", "created"));
    V1ConfigMap created = core.createNamespacedConfigMap(namespace, own).execute();
    created.setData(Map.of("phase", "updated"));
    V1ConfigMap updated = core.replaceNamespacedConfigMap("own", namespace, created).execute();
    core.deleteNamespacedConfigMap("own", namespace).execute();
    say(Map.of("step", "written", "phase", updated.getData().get("phase")));
  }

  private static void follow(ApiClient client, CoreV1Api core, String namespace) throws Exception {
    SharedInformerFactory factory = new SharedInformerFactory(client);
    SharedIndexInformer<V1ConfigMap> informer =
        factory.sharedIndexInformerFor(
            parameters ->
                core.listNamespacedConfigMap(namespace)
                    .watch(parameters.watch)
                    .resourceVersion(parameters.resourceVersion)
                    .timeoutSeconds(parameters.timeoutSeconds)
                    .buildCall(null),
            V1ConfigMap.class,
            V1ConfigMapList.class);
    Handler handler = new Handler();
    informer.addEventHandler(handler);
    factory.startAllRegisteredInformers();
    while (!informer.hasSynced()) Thread.sleep(SYNC_POLL_MS);
    List<String> names =
        informer.getIndexer().list().stream().map(item -> item.getMetadata().getName()).sorted().toList();
    say(Map.of("step", "watching", "names", names));
    handler.gone.await();
    say(Map.of("step", "gone"));
    factory.stopAllRegisteredInformers();
  }

  private static class Handler implements ResourceEventHandler<V1ConfigMap> {
    final CountDownLatch gone = new CountDownLatch(1);

    @Override
    public void onAdd(V1ConfigMap object) {
      if (isSignal(object)) say(Map.of("step", "seen", "phase", object.getData().get("phase")));
    }

    @Override
    public void onUpdate(V1ConfigMap before, V1ConfigMap object) {
      onAdd(object);
    }

    @Override
    public void onDelete(V1ConfigMap object, boolean finalStateUnknown) {
      if (isSignal(object)) gone.countDown();
    }

    private static boolean isSignal(V1ConfigMap object) {
      return "signal".equals(object.getMetadata().getName());
    }
  }
}

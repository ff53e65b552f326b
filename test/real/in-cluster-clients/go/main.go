// An in-cluster program as client-go's examples write them: clientset, shared informer, protobuf on the wire.
// It prints one JSON object a line; the suite beside it says what the lines mean. With a group, a version and a resource as arguments
// it is that of dynamic.go.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

var output = json.NewEncoder(os.Stdout)

type line map[string]any

func print(value line) {
	must(output.Encode(value))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	config, err := rest.InClusterConfig()
	must(err)
	namespace, err := os.ReadFile(namespaceFile)
	must(err)
	if len(os.Args) == 4 {
		resource := schema.GroupVersionResource{Group: os.Args[1], Version: os.Args[2], Resource: os.Args[3]}
		followUnknown(ctx, config, string(namespace), resource)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	clientset, err := kubernetes.NewForConfig(config)
	must(err)

	whoAmI(ctx, clientset)
	listPods(ctx, clientset, string(namespace))
	write(ctx, clientset, string(namespace))
	watch(ctx, clientset, string(namespace))
}

func whoAmI(ctx context.Context, clientset kubernetes.Interface) {
	reviews := clientset.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(err)
	print(line{"step": "identity", "user": review.Status.UserInfo.Username})
}

func listPods(ctx context.Context, clientset kubernetes.Interface, namespace string) {
	pods, err := clientset.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	must(err)
	names := []string{}
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	print(line{"step": "pods", "names": names})
}

func write(ctx context.Context, clientset kubernetes.Interface, namespace string) {
	maps := clientset.CoreV1().ConfigMaps(namespace)
	own := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Data: map[string]string{"phase": "created"}}
	created, err := maps.Create(ctx, own, metav1.CreateOptions{})
	must(err)
	created.Data["phase"] = "updated"
	updated, err := maps.Update(ctx, created, metav1.UpdateOptions{})
	must(err)
	must(maps.Delete(ctx, "own", metav1.DeleteOptions{}))
	print(line{"step": "written", "phase": updated.Data["phase"]})
}

func watch(ctx context.Context, clientset kubernetes.Interface, namespace string) {
	ctx, stop := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(namespace))
	maps := factory.Core().V1().ConfigMaps()
	registration, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { seen(object.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, object any) { seen(object.(*corev1.ConfigMap)) },
		DeleteFunc: func(object any) {
			if object.(*corev1.ConfigMap).Name == "signal" {
				stop()
			}
		},
	})
	must(err)
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	print(line{"step": "watching", "names": namesOf(maps.Lister())})
	<-ctx.Done()
	print(line{"step": "gone"})
	factory.Shutdown()
}

func namesOf(lister listers.ConfigMapLister) []string {
	objects, err := lister.List(labels.Everything())
	must(err)
	names := []string{}
	for _, object := range objects {
		names = append(names, object.Name)
	}
	slices.Sort(names)
	return names
}

func seen(object *corev1.ConfigMap) {
	if object.Name == "signal" {
		print(line{"step": "seen", "phase": object.Data["phase"]})
	}
}

"""An in-cluster program with the Python client: load_incluster_config, a list, a watch from its version.

It prints one JSON object a line; the suite beside it says what the lines mean.
"""

import json

from kubernetes import client, config, watch

NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"


def say(**line):
    print(json.dumps(line), flush=True)


def who_am_i():
    review = client.AuthenticationV1Api().create_self_subject_review(client.V1SelfSubjectReview())
    say(step="identity", user=review.status.user_info.username)


def write(core, namespace):
    own = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="own"), data={"phase": "created"})
    created = core.create_namespaced_config_map(namespace, own)
    created.data["phase"] = "updated"
    updated = core.replace_namespaced_config_map("own", namespace, created)
    core.delete_namespaced_config_map("own", namespace)
    say(step="written", phase=updated.data["phase"])


def follow(core, namespace):
    maps = core.list_namespaced_config_map(namespace)
    say(step="watching", names=[item.metadata.name for item in maps.items])
    watcher = watch.Watch()
    version = maps.metadata.resource_version
    for event in watcher.stream(core.list_namespaced_config_map, namespace, resource_version=version):
        if event["object"].metadata.name != "signal":
            continue
        if event["type"] == "DELETED":
            say(step="gone")
            watcher.stop()
        else:
            say(step="seen", phase=event["object"].data["phase"])


def main():
    config.load_incluster_config()
    with open(NAMESPACE_FILE, encoding="utf-8") as file:
        namespace = file.read()
    core = client.CoreV1Api()
    who_am_i()
    say(step="pods", names=[pod.metadata.name for pod in core.list_namespaced_pod(namespace).items])
    write(core, namespace)
    follow(core, namespace)


main()

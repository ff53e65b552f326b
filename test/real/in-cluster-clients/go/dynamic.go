// A program that reads kinds which it does not know, as operators do that are led by configuration: a dynamic client and informer.
package main

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const listInterval = 200 * time.Millisecond

// Remembers whether the last answer came from a node that is cut off.
type warnings struct{ cutOff atomic.Bool }

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	if strings.Contains(text, "cut off") {
		w.cutOff.Store(true)
	}
}

// Tells what the informer sees, and what a list is called whenever that has changed. It does not end by itself.
func followUnknown(ctx context.Context, config *rest.Config, namespace string, resource schema.GroupVersionResource) {
	heard := &warnings{}
	config.WarningHandler = heard
	client, err := dynamic.NewForConfig(config)
	must(err)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	registration, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { told("seen", object) },
		UpdateFunc: func(_, object any) { told("seen", object) },
		DeleteFunc: func(object any) { told("lost", object) },
	})
	must(err)
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	print(line{"step": "watching"})
	before := ""
	for range time.Tick(listInterval) {
		heard.cutOff.Store(false)
		list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		must(err)
		now := list.GetKind()
		if heard.cutOff.Load() {
			now += " cut off"
		}
		if now != before {
			print(line{"step": "listed", "kind": list.GetKind(), "cutOff": heard.cutOff.Load()})
		}
		before = now
	}
}

func told(step string, object any) {
	if found, ok := object.(*unstructured.Unstructured); ok {
		print(line{"step": step, "kind": found.GetKind(), "name": found.GetName()})
	}
}

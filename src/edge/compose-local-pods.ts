/** What the kubelet says of its pods while nobody else can be told, joined with the feeds, the link and those who are shown it. */
import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import { joinGroupVersion } from '../kube/schema/catalogue.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Feed } from './feeds/feed.ts'
import type { Feeds } from './feeds/feeds.ts'
import type { LocalPodsView } from './filters/filter.ts'
import { localEndpoints } from './filters/local-endpoints.ts'
import { LocalPods } from './local-pods/local-pods.ts'
import { createLocalPodsMetrics } from './local-pods/local-pods-metrics.ts'
import { publishesNotReady, servedPod, upstreamPod } from './replica/known-objects.ts'
import { PodStatuses } from './replica/pod-statuses.ts'

export interface ComposeLocalPodsOptions {
  readonly node: string
  readonly feeds: Feeds
  readonly whyOffline: () => string
  readonly clock: Clock
  readonly registry: Registry
}

export interface EdgeLocalPods {
  readonly statuses: PodStatuses
  readonly view: LocalPodsView
  readonly setOnline: (isOnline: boolean) => void
  /** `changed` is called before watches are told of it. */
  readonly onChange: (changed: () => void) => void
  readonly close: () => void
}

export function composeLocalPods({ node, feeds, whyOffline, clock, registry }: ComposeLocalPodsOptions): EdgeLocalPods {
  const localPods = new LocalPods({ run: randomUUID(), upstreamOf: (pod) => upstreamPod(feeds, pod), clock })
  const metrics = createLocalPodsMetrics(registry, () => localPods.size)
  const view: LocalPodsView = {
    node,
    get size() {
      return localPods.size
    },
    get revision() {
      return localPods.revision
    },
    of: (uid) => localPods.of(uid),
    publishesNotReady: (namespace, name) => publishesNotReady(feeds, namespace, name),
  }
  return {
    statuses: new PodStatuses({ node, localPods, metrics, served: (pod) => servedPod(feeds, pod), whyOffline, clock }),
    view,
    setOnline: (isOnline) => localPods.setOnline(isOnline),
    onChange: (changed) => {
      localPods.onChange((uids) => {
        changed()
        retell(feeds, node, uids)
      })
    },
    close: () => localPods.close(),
  }
}

/** Whoever watches what names one of these pods gets it once more. */
function retell(feeds: Feeds, node: string, uids: ReadonlySet<string>): void {
  const names = [...uids].map((uid) => Buffer.from(uid))
  const nodeName = Buffer.from(node)
  for (const feed of feeds.all) {
    if (!showsPods(feed)) continue
    // Both encodings have names as they are. Most objects are about pods of other nodes, and done with after one look.
    feed.retell(({ document }) => document.includes(nodeName) && names.some((name) => document.includes(name)))
  }
}

function showsPods({ scope: { apiGroup, apiVersion, resource } }: Feed): boolean {
  const version = joinGroupVersion(apiGroup, apiVersion)
  return localEndpoints.resources.some((each) => each.resource === resource && each.apiVersion === version)
}

/**
 * Objects in the states that users look for in a table: running and crashing pods, finished jobs, bound claims, nodes
 * with roles. Status is written as its own subresource after the create, as a kubelet or a controller would.
 */

import { autoscalerFixtures } from './autoscalers.ts'
import { certificateFixtures } from './certificates.ts'
import { clusterFixtures } from './cluster.ts'
import { deviceFixtures } from './devices.ts'
import { eventFixtures } from './events.ts'
import { networkFixtures } from './network.ts'
import type { TableFixture } from './parts.ts'
import { podFixtures } from './pods.ts'
import { storageFixtures } from './storage.ts'
import { workloadFixtures } from './workloads.ts'

export function tableFixtures(nowMs: number): TableFixture[] {
  const ago = (ms: number): string => new Date(nowMs - ms).toISOString().replace(/\.\d+Z$/, 'Z')
  return [
    ...podFixtures(ago),
    ...workloadFixtures(ago),
    ...autoscalerFixtures(),
    ...networkFixtures(),
    ...storageFixtures(),
    ...clusterFixtures(),
    ...certificateFixtures(ago),
    ...eventFixtures(ago),
    ...deviceFixtures(ago),
  ]
}

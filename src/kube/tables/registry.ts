/** Which layout a kind has. Versions do not matter: the columns of a kind are the same in all of them. */
import { splitApiVersion } from '../schema/catalogue.ts'
import { ACCESS_LAYOUTS } from './access.ts'
import { ADMISSION_LAYOUTS } from './admission.ts'
import { AUTOSCALING_LAYOUTS } from './autoscaling.ts'
import { qualified } from './common-cells.ts'
import { CONFIGURATION_LAYOUTS } from './configuration.ts'
import { DEVICE_LAYOUTS } from './devices.ts'
import { EVENT_LAYOUTS } from './events.ts'
import { JOB_LAYOUTS } from './jobs.ts'
import { column, layout, NAME_COLUMN, type TableLayout } from './layout.ts'
import { NETWORKING_LAYOUTS } from './networking.ts'
import { NODE_LAYOUTS } from './nodes.ts'
import { textAt } from './paths.ts'
import { POD_LAYOUTS } from './pods.ts'
import { SERVICE_LAYOUTS } from './services.ts'
import { SERVING_LAYOUTS } from './serving.ts'
import { STORAGE_LAYOUTS } from './storage.ts'
import { WORKLOAD_LAYOUTS } from './workloads.ts'

/** By `Kind.group`, or the kind alone in the core group. */
const layouts: ReadonlyMap<string, TableLayout> = new Map(
  [
    POD_LAYOUTS,
    WORKLOAD_LAYOUTS,
    JOB_LAYOUTS,
    AUTOSCALING_LAYOUTS,
    SERVICE_LAYOUTS,
    NETWORKING_LAYOUTS,
    STORAGE_LAYOUTS,
    NODE_LAYOUTS,
    EVENT_LAYOUTS,
    CONFIGURATION_LAYOUTS,
    ACCESS_LAYOUTS,
    ADMISSION_LAYOUTS,
    SERVING_LAYOUTS,
    DEVICE_LAYOUTS,
  ].flatMap((group) => Object.entries(group)),
)

/** An object without a creation time has Go's zero time. */
const neverCreated = '0001-01-01T00:00:00Z'

/** Kinds without columns of their own, roles and limit ranges among them, show when they were made, not how long ago. */
const plainLayout = layout([
  NAME_COLUMN,
  column(
    'Created At',
    'When it was created.',
    (object) => textAt(object, 'metadata', 'creationTimestamp') || neverCreated,
    'date',
  ),
])

export function layoutOfKind(apiVersion: string, kind: string): TableLayout {
  return layouts.get(qualified(kind, splitApiVersion(apiVersion).group)) ?? plainLayout
}

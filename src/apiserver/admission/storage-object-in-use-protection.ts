/** Volumes, claims and volume attribute classes stay until whoever uses them lets go: a finalizer from the first moment. */
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { CLAIMS, VOLUME_ATTRIBUTES_CLASSES, VOLUMES } from './lookup.ts'
import { concernsObject } from './refusal.ts'

const protections = [
  { resource: VOLUMES, finalizer: 'kubernetes.io/pv-protection' },
  { resource: CLAIMS, finalizer: 'kubernetes.io/pvc-protection' },
  { resource: VOLUME_ATTRIBUTES_CLASSES, finalizer: 'kubernetes.io/vac-protection' },
]

export class StorageObjectInUseProtection implements AdmissionPlugin {
  readonly name = 'StorageObjectInUseProtection'

  admit(request: AdmissionRequest): void {
    const { object, operation } = request
    const protection = protections.find(({ resource }) => concernsObject(request, resource))
    if (operation !== 'CREATE' || object === undefined || protection === undefined) return
    const { finalizers = [] } = object.metadata ?? {}
    if (finalizers.includes(protection.finalizer)) return
    object.metadata = { ...object.metadata, finalizers: [...finalizers, protection.finalizer] }
  }
}

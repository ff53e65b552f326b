/** A claim that names no storage class gets the one that is marked as the default, the newest where several are. */
import type { KubeObject } from '../../kube/objects.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, has } from '../kinds/fields.ts'
import { CLAIMS, type ObjectLookup, STORAGE_CLASSES } from './lookup.ts'
import { defaultReading, newestDefault } from './newest-default.ts'
import { concernsObject } from './refusal.ts'

const defaultMark = defaultReading([
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
])
const classAnnotation = 'volume.beta.kubernetes.io/storage-class'

export class DefaultStorageClass implements AdmissionPlugin {
  readonly name = 'DefaultStorageClass'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  admit(request: AdmissionRequest): void {
    const { object: claim, operation } = request
    if (operation !== 'CREATE' || claim === undefined || !concernsObject(request, CLAIMS) || hasClass(claim)) return
    const chosen = newestDefault(this.#lookup.reads(STORAGE_CLASSES, '', defaultMark))
    if (chosen !== undefined) ensureStruct(claim, 'spec')['storageClassName'] = chosen
  }
}

/** An empty class is a choice too: no dynamic provisioning. */
function hasClass(claim: KubeObject): boolean {
  const annotated = Object.hasOwn(claim.metadata?.annotations ?? {}, classAnnotation)
  return annotated || has(ensureStruct(claim, 'spec'), 'storageClassName')
}

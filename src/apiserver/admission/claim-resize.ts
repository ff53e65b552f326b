/** A claim may grow only when it is bound and its storage class says that volumes can. */
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { type Fields, flag, struct, text, textMap } from '../kinds/fields.ts'
import { compareQuantities, quantity } from '../kinds/quantities.ts'
import { CLAIMS, type ObjectLookup, STORAGE_CLASSES } from './lookup.ts'
import { concernsObject, refusal } from './refusal.ts'

const classAnnotation = 'volume.beta.kubernetes.io/storage-class'
const notBound = 'Only bound persistent volume claims can be expanded'
const notGrowable =
  'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'

export class PersistentVolumeClaimResize implements AdmissionPlugin {
  readonly name = 'PersistentVolumeClaimResize'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  validate(request: AdmissionRequest): void {
    if (request.operation !== 'UPDATE' || !concernsObject(request, CLAIMS)) return
    const { object: claim, old } = request
    if (claim === undefined || old === undefined || compareQuantities(sizeOf(claim), sizeOf(old)) <= 0) return
    if (text(struct(old, 'status'), 'phase') !== 'Bound') throw refusal(request, notBound)
    const className = classOf(claim)
    const found = className === classOf(old) ? this.#lookup.find(STORAGE_CLASSES, '', className) : undefined
    if (className === '' || !flag(found, 'allowVolumeExpansion')) throw refusal(request, notGrowable)
  }
}

function sizeOf(claim: Fields): string {
  return quantity(struct(struct(struct(claim, 'spec'), 'resources'), 'requests'), 'storage') ?? '0'
}

function classOf(claim: Fields): string {
  return (
    textMap(struct(claim, 'metadata'), 'annotations')[classAnnotation] ??
    text(struct(claim, 'spec'), 'storageClassName')
  )
}

/** An ingress that names no class gets the one that is marked as the default, the newest where several are. */
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, has } from '../kinds/fields.ts'
import { INGRESS_CLASSES, INGRESSES, type ObjectLookup } from './lookup.ts'
import { defaultReading, newestDefault } from './newest-default.ts'
import { concernsObject } from './refusal.ts'

const defaultMark = defaultReading(['ingressclass.kubernetes.io/is-default-class'])
const classAnnotation = 'kubernetes.io/ingress.class'

export class DefaultIngressClass implements AdmissionPlugin {
  readonly name = 'DefaultIngressClass'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  admit(request: AdmissionRequest): void {
    const { object: ingress, operation } = request
    if (operation !== 'CREATE' || ingress === undefined || !concernsObject(request, INGRESSES)) return
    const spec = ensureStruct(ingress, 'spec')
    const annotated = Object.hasOwn(ingress.metadata?.annotations ?? {}, classAnnotation)
    if (annotated || has(spec, 'ingressClassName')) return
    const chosen = newestDefault(this.#lookup.reads(INGRESS_CLASSES, '', defaultMark))
    if (chosen !== undefined) spec['ingressClassName'] = chosen
  }
}

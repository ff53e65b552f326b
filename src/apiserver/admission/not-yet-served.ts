/**
 * Nothing is accepted and then ignored. Objects that would configure what this server does not do are refused by name; who
 * relies on a webhook for safety must learn at once that nobody would ask it.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { struct } from '../kinds/fields.ts'
import { concernsObject, earlyRefusal } from './refusal.ts'

interface Unserved {
  readonly group: string
  readonly resource: string
  readonly why: string
  /** All objects of the resource unless said otherwise. */
  readonly applies?: (object: KubeObject) => boolean
}

const registration = 'admissionregistration.k8s.io'
const webhooks = 'this server does not call admission webhooks yet, so this configuration would have no effect'
const policies = 'this server does not evaluate admission policies yet, so this object would have no effect'

const unserved: readonly Unserved[] = [
  {
    group: 'apiextensions.k8s.io',
    resource: 'customresourcedefinitions',
    why: 'this server does not serve custom resources yet, so the resource would not appear',
  },
  {
    group: 'apiregistration.k8s.io',
    resource: 'apiservices',
    why: 'this server does not pass requests on to other API servers yet; spec.service must not be set',
    applies: (object) => struct(struct(object, 'spec'), 'service') !== undefined,
  },
  { group: registration, resource: 'validatingwebhookconfigurations', why: webhooks },
  { group: registration, resource: 'mutatingwebhookconfigurations', why: webhooks },
  { group: registration, resource: 'validatingadmissionpolicies', why: policies },
  { group: registration, resource: 'validatingadmissionpolicybindings', why: policies },
  { group: registration, resource: 'mutatingadmissionpolicies', why: policies },
  { group: registration, resource: 'mutatingadmissionpolicybindings', why: policies },
]

export class NotYetServed implements AdmissionPlugin {
  readonly name = 'NotYetServed'

  admit(request: AdmissionRequest): void {
    const { object, old, operation } = request
    if (object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return
    // An object on its way out may still lose its finalizers.
    if (old?.metadata?.deletionTimestamp !== undefined) return
    const found = unserved.find((entry) => concernsObject(request, entry) && (entry.applies?.(object) ?? true))
    if (found !== undefined) throw earlyRefusal(request, found.why)
  }
}

/**
 * The Pod Security Standards: pods that reach further than the labels of their namespace allow are refused, and whoever
 * writes a template that would make such pods is warned.
 */
import { invalid } from '../../../kube/status/resource-errors.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { nowOrInTurns, type Steps } from '../../../runtime/steps.ts'
import { Turns } from '../../../runtime/turns.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../core/admission.ts'
import { type Fields, struct, structs, text, textMap } from '../../kinds/fields.ts'
import { NAMESPACES, type ObjectLookup, PODS } from '../lookup.ts'
import { concerns, refusal } from '../refusal.ts'
import { breachesOf, tellBreaches } from './evaluate.ts'
import { existingPodWarnings } from './existing-pods.ts'
import { describeStandard, type Policy, policyOf, type Standard, sameStandard, strictness } from './policy.ts'
import { type Breach, type Subject, subjectOf } from './subject.ts'

/** Through these a pod does not get other containers. */
const harmlessSubresources = ['exec', 'attach', 'binding', 'eviction', 'log', 'portforward', 'proxy', 'status']

/** Where resources keep the template of their pods. */
const templates: Readonly<Record<string, readonly string[]>> = {
  '/replicationcontrollers': ['spec', 'template'],
  '/podtemplates': ['template'],
  'apps/replicasets': ['spec', 'template'],
  'apps/deployments': ['spec', 'template'],
  'apps/statefulsets': ['spec', 'template'],
  'apps/daemonsets': ['spec', 'template'],
  'batch/jobs': ['spec', 'template'],
  'batch/cronjobs': ['spec', 'jobTemplate', 'spec', 'template'],
}

/** Takes what the label `audit` asks to be written down. */
export type AuditSink = (note: PodSecurityNote) => void

export interface PodSecurityNote {
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly user: string
  readonly violation: string
}

export class PodSecurity implements AdmissionPlugin {
  readonly name = 'PodSecurity'
  readonly #lookup: ObjectLookup
  readonly #clock: Clock
  readonly #audit: AuditSink

  constructor(lookup: ObjectLookup, clock: Clock, audit: AuditSink = () => {}) {
    this.#lookup = lookup
    this.#clock = clock
    this.#audit = audit
  }

  validate(request: AdmissionRequest): Promise<void> | void {
    const { operation, object } = request
    if ((operation !== 'CREATE' && operation !== 'UPDATE') || object === undefined) return
    if (concerns(request, NAMESPACES)) return this.#checkNamespace(request, object)
    if (concerns(request, PODS)) this.#checkPod(request, object)
    else this.#checkTemplate(request, object)
  }

  #checkNamespace(request: AdmissionRequest, namespace: Fields): Promise<void> | void {
    if (request.subresource !== '') return
    const { policy, errors } = policyOf(labelsOf(namespace))
    const before = request.old === undefined ? undefined : policyOf(labelsOf(request.old))
    const wereThere = JSON.stringify(before?.errors) === JSON.stringify(errors)
    if (errors.length > 0 && !wereThere) throw invalid(request.resource.groupKind, request.name, errors)
    if (before === undefined || !isStricter(policy.enforce, before.policy.enforce)) return
    return nowOrInTurns(this.#warnOfPods(request, policy.enforce), new Turns(this.#clock))
  }

  *#warnOfPods(request: AdmissionRequest, standard: Standard): Steps<void> {
    const pods = this.#lookup.unread(PODS, request.name)
    const warnings = yield* existingPodWarnings(request.name, standard, pods, this.#clock)
    for (const warning of warnings) request.warn(warning)
  }

  #checkPod(request: AdmissionRequest, pod: Fields): void {
    if (harmlessSubresources.includes(request.subresource)) return
    const policy = this.#policyOf(request.namespace)
    if (request.old !== undefined && !changesImages(pod, request.old)) return
    const subject = subjectOf(pod)
    this.#note(request, subject, policy.audit)
    const breaches = breachesOf(subject, policy.enforce)
    if (breaches.length > 0) {
      const standard = describeStandard(policy.enforce)
      throw refusal(request, `violates PodSecurity "${standard}": ${tellBreaches(breaches)}`)
    }
    warnAbout(request, subject, policy.warn)
  }

  /** The controller may exist; its pods are refused when they come. */
  #checkTemplate(request: AdmissionRequest, object: Fields): void {
    const path = templates[`${request.resource.group}/${request.resource.row.resource}`]
    if (path === undefined || request.subresource !== '') return
    const template = path.reduce<Fields | undefined>((parent, name) => struct(parent, name), object)
    if (template === undefined) return
    const subject = subjectOf(template)
    const policy = this.#policyOf(request.namespace)
    this.#note(request, subject, policy.audit)
    warnAbout(request, subject, policy.warn)
  }

  #note({ resource, namespace, name, user }: AdmissionRequest, subject: Subject, standard: Standard): void {
    const breaches = breachesOf(subject, standard)
    if (breaches.length === 0) return
    const violation = wouldViolate(standard, breaches)
    this.#audit({ resource: resource.row.resource, namespace, name, user: user.name, violation })
  }

  #policyOf(namespace: string): Policy {
    return policyOf(labelsOf(this.#lookup.find(NAMESPACES, '', namespace) ?? {})).policy
  }
}

function labelsOf(namespace: Fields): Record<string, string> {
  return textMap(struct(namespace, 'metadata'), 'labels')
}

function warnAbout(request: AdmissionRequest, subject: Subject, standard: Standard): void {
  const breaches = breachesOf(subject, standard)
  if (breaches.length === 0) return
  request.warn(wouldViolate(standard, breaches))
}

function wouldViolate(standard: Standard, breaches: readonly Breach[]): string {
  return `would violate PodSecurity "${describeStandard(standard)}": ${tellBreaches(breaches)}`
}

/** Only then pods that are already there may have become wrong. */
function isStricter(now: Standard, before: Standard): boolean {
  if (sameStandard(now, before) || now.level === 'privileged') return false
  return now.minor !== before.minor || strictness(now.level) > strictness(before.level)
}

/** Of all that an update may change only another image, or a further container, can matter to the rules. */
function changesImages(pod: Fields, old: Fields): boolean {
  const images = (owner: Fields, list: string): string[] =>
    structs(struct(owner, 'spec'), list).map((container) => text(container, 'image'))
  const differ = ['initContainers', 'containers'].some(
    (list) => images(pod, list).join('\n') !== images(old, list).join('\n'),
  )
  if (differ) return true
  const before = structs(struct(old, 'spec'), 'ephemeralContainers')
  return structs(struct(pod, 'spec'), 'ephemeralContainers').some((container) => {
    const same = before.find((other) => other['name'] === container['name'])
    return text(same, 'image') !== text(container, 'image') || same === undefined
  })
}

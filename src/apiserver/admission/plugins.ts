/** The admission plugins in the order of a kube-apiserver: a plugin sees what those before it made of the object. */
import type { Clock } from '../../runtime/clock.ts'
import type { EscalationCheck } from '../auth/rbac/escalation.ts'
import type { AdmissionPlugin } from '../core/admission.ts'
import type { Authorizer } from '../request/authorizer.ts'
import { CertificateApproval } from './certificate-approval.ts'
import { CertificateSigning } from './certificate-signing.ts'
import { CertificateSubjectRestriction } from './certificate-subject-restriction.ts'
import { PersistentVolumeClaimResize } from './claim-resize.ts'
import { DefaultIngressClass } from './default-ingress-class.ts'
import { DefaultStorageClass } from './default-storage-class.ts'
import { DefaultTolerationSeconds } from './default-toleration-seconds.ts'
import { LimitRanger } from './limit-ranger.ts'
import type { ObjectLookup } from './lookup.ts'
import { NamespaceLifecycle } from './namespace-lifecycle.ts'
import { NodeRestriction } from './node-restriction/node-restriction.ts'
import { NotYetServed } from './not-yet-served.ts'
import { PodResizeValidator } from './pod-resize.ts'
import { type AuditSink, PodSecurity } from './pod-security/pod-security.ts'
import { PodTopologyLabels } from './pod-topology-labels.ts'
import { Priority } from './priority.ts'
import { ResourceQuota } from './quota/resource-quota.ts'
import { RbacEscalation } from './rbac-escalation.ts'
import { RuntimeClass } from './runtime-class.ts'
import { ServiceAccount } from './service-account.ts'
import { StorageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { TaintNodesByCondition } from './taint-nodes-by-condition.ts'

export interface AdmissionParts {
  readonly lookup: ObjectLookup
  readonly clock: Clock
  readonly authorizer: Authorizer
  readonly escalation: EscalationCheck
  /** For namespaces that ask for a record of pods which break their rules. */
  readonly audit?: AuditSink
}

/** Throws for a name that is no plugin, and for one that keeps users from taking rights or being misled. */
export function admissionPlugins(parts: AdmissionParts, disabled: readonly string[] = []): AdmissionPlugin[] {
  const { lookup, clock, authorizer, escalation } = parts
  const plugins: AdmissionPlugin[] = [
    // What would have no effect is refused before anything else is said about it.
    new NotYetServed(),
    // Nothing else matters for an object that has no place to be.
    new NamespaceLifecycle(lookup),
    // Early, so that all later plugins see what containers really ask for.
    new LimitRanger(lookup, clock),
    // Adds volumes and mounts, which restrictions on nodes look at.
    new ServiceAccount(lookup, clock),
    // After the service account: a mirror pod must have been left without one.
    new NodeRestriction(lookup, authorizer),
    // After the restriction: a kubelet may not set taints, the server does.
    new TaintNodesByCondition(),
    // Looks only, at what the plugins before it made of the pod.
    new PodSecurity(lookup, clock, parts.audit),
    // The class decides which quota a pod counts against.
    new Priority(lookup),
    // Independent of the others; the place is that of a kube-apiserver.
    new DefaultTolerationSeconds(),
    // The class decides which quota a claim counts against.
    new DefaultStorageClass(lookup),
    // Independent of the others; the place is that of a kube-apiserver.
    new StorageObjectInUseProtection(),
    // Looks only; the place is that of a kube-apiserver.
    new PersistentVolumeClaimResize(lookup),
    // What the runtime costs counts against quotas too.
    new RuntimeClass(lookup),
    // May this user approve for the signer?
    new CertificateApproval(authorizer),
    // May this user sign for the signer?
    new CertificateSigning(authorizer),
    // May anybody have such a certificate?
    new CertificateSubjectRestriction(),
    // Independent of the others; the place is that of a kube-apiserver.
    new DefaultIngressClass(lookup),
    // Independent of the others; the place is that of a kube-apiserver.
    new PodTopologyLabels(lookup),
    // Looks only; the place is that of a kube-apiserver.
    new PodResizeValidator(lookup),
    // After all that change objects: what is checked is what is granted.
    new RbacEscalation(escalation, clock),
    // Last, since what is admitted here is counted.
    new ResourceQuota(lookup, clock),
  ]
  checkDisabled(
    disabled,
    plugins.map(({ name }) => name),
  )
  return plugins.filter(({ name }) => !disabled.includes(name))
}

/** Not plugins in a kube-apiserver, so nobody expects to switch them off there. */
const alwaysOn = ['NotYetServed', 'RbacEscalation']

function checkDisabled(disabled: readonly string[], known: readonly string[]): void {
  const choices = known.filter((name) => !alwaysOn.includes(name))
  const wrong = disabled.find((name) => !choices.includes(name))
  if (wrong === undefined) return
  throw new Error(`cannot disable the admission plugin "${wrong}": choose from ${choices.join(', ')}`)
}

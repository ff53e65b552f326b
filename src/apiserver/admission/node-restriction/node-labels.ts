/** Which labels a kubelet may put on its own node. Others decide where pods run, and a node must not attract them. */

const restrictedDomain = 'node-restriction.kubernetes.io'
const ownDomains = ['kubernetes.io', 'k8s.io']
const kubeletDomains = ['kubelet.kubernetes.io', 'node.kubernetes.io']
const kubeletLabels = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
])

type Labels = Readonly<Record<string, string>>

/** The labels that differ and that the kubelet may not touch, sorted. */
export function forbiddenLabelChanges(now: Labels, before: Labels): string[] {
  return [...new Set([...Object.keys(now), ...Object.keys(before)])]
    .filter((label) => now[label] !== before[label] && isForbidden(label))
    .sort()
}

function isForbidden(label: string): boolean {
  const slash = label.indexOf('/')
  const domain = slash === -1 ? '' : label.slice(0, slash)
  if (isWithin(domain, [restrictedDomain])) return true
  return isWithin(domain, ownDomains) && !kubeletLabels.has(label) && !isWithin(domain, kubeletDomains)
}

function isWithin(domain: string, parents: readonly string[]): boolean {
  return parents.some((parent) => domain === parent || domain.endsWith(`.${parent}`))
}

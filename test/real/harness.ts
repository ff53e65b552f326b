/** What the suites against real binaries start from. */
import { describe } from 'vitest'
import { missingPeers, type Peer, peersDirectory } from './control-plane.ts'

export { type ControlPlane, kubectl, startControlPlane } from './control-plane.ts'

/** `describe` for a suite that needs real binaries; where some are missing the report names what was skipped and why. */
export function describeReal(
  subject: string,
  body: () => void,
  peers: readonly Peer[] = ['etcd', 'kube-apiserver'],
  missingElse: readonly string[] = [],
) {
  const missing = missingPeers(peers)
  const reasons = [
    ...(missing.length === 0 ? [] : [`no ${missing.join(', ')} in ${peersDirectory()}`]),
    ...missingElse.map((what) => `no ${what}`),
  ]
  const name = reasons.length === 0 ? subject : `${subject} (skipped: ${reasons.join('; ')})`
  describe.skipIf(reasons.length > 0)(name, body)
}

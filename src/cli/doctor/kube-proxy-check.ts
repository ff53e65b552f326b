/** The token that the edge keeps for kube-proxy: without a good one kube-proxy leads nobody anywhere, and nobody says why. */
import { type DoctorReaders, type Finding, fail, ok, warn } from './finding.ts'
import { endpointIfKnown } from './reported-status.ts'

const advice =
  'see that the hub can be reached and that its ServiceAccount kube-proxy exists (it comes with the roles of the hub); ' +
  'the edge asks again by itself'

export async function checkKubeProxyToken(readers: DoctorReaders): Promise<Finding> {
  const token = (await endpointIfKnown(readers))?.kubeProxyToken
  if (token === undefined) return ok('none is kept')
  const { ends, problem } = token
  if (ends === undefined) return fail(problem ?? 'there is none yet', advice)
  if (Date.parse(ends) <= readers.nowMs()) return fail(`has ended at ${ends}: ${problem ?? 'not renewed'}`, advice)
  return problem === undefined ? ok(`until ${ends}`) : warn(problem, advice)
}

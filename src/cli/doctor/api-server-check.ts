/** Whether requests at the endpoint come to the API server: a hub may be well and have nobody behind it. */
import { reachable } from '../run/edge-endpoint.ts'
import { type DoctorReaders, type Finding, fail, ok, warn } from './finding.ts'
import { type DoctorEdge, endpointIfKnown, isLinked, linksIfKnown, upstreamProblem } from './reported-status.ts'

/** What the endpoint itself answers for an API server that it cannot reach, and any proxy in its place would. */
const awayCodes: ReadonlySet<number> = new Set([502, 503, 504])
const tooManyRequests = 429

const advice =
  'see that the API server runs and that the hub reaches it: --apiserver of the hub, or the server of its kubeconfig; ' +
  'its log says more'

export async function checkApiServer(readers: DoctorReaders): Promise<Finding> {
  const endpoint = await endpointIfKnown(readers)
  const [address] = endpoint?.addresses ?? []
  if (endpoint === undefined || address === undefined)
    return warn('not asked: there is no endpoint to ask through', 'see the checks before')
  if (!(await linksIfKnown(readers)).some(isLinked)) return warn('not asked: there is no link', 'see the check of link')
  return await askThrough(readers, reachable(address), endpoint)
}

/** Without a credential: whatever the API server says to that, it is there. */
async function askThrough(
  readers: DoctorReaders,
  host: string,
  { port }: NonNullable<DoctorEdge['endpoint']>,
): Promise<Finding> {
  try {
    const { code, message } = await readers.versionAnswer(host, port)
    if (code === tooManyRequests) return warn(`not known: ${message ?? 'too many requests'}`, 'ask again in a moment')
    if (!awayCodes.has(code)) return ok(`it answers (HTTP ${code})`)
    // The endpoint tells strangers no more than that; how it really is, the edge tells here.
    const why = (await upstreamProblem(readers)) ?? message ?? 'no reason is given'
    return fail(`requests get HTTP ${code}: ${why}`, advice)
  } catch (error) {
    return fail(`requests get no answer: ${(error as Error).message}`, 'see the check of endpoint port')
  }
}

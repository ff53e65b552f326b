/** The endpoint: its certificate, its addresses, and whether it answers. */
import { isAlwaysThere } from '../../edge/network/bind-address.ts'
import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { speaksFor, verifyCertificate } from '../../identity/verify.ts'
import { reachable } from '../run/edge-endpoint.ts'
import { type DoctorReaders, type Finding, fail, isForbidden, ok, unlessForbidden, warn } from './finding.ts'
import { askEdge, endpointIfKnown, isLinked } from './reported-status.ts'

const servingFile = 'serving.crt'
const clusterCaFile = 'kubernetes-ca.crt'

/** What to do where the cluster signs with a CA that its pods do not trust, which no edge can mend. */
const signerAdvice =
  'the signer of kubelet-serving certificates uses another CA than kube-root-ca.crt holds: give kube-controller-manager a ' +
  '--cluster-signing-kubelet-serving-cert-file of the CA that pods trust, or add the CA of the signer to its --root-ca-file; ' +
  'until then clients in pods refuse the endpoint as signed by an unknown authority'

export async function checkServingCertificate(readers: DoctorReaders): Promise<Finding> {
  try {
    const pem = await readers.read(servingFile)
    if (pem === undefined)
      return fail(
        `there is no ${servingFile}: the endpoint cannot serve yet`,
        'let the edge reach its hub, and see that the cluster approves and signs kubelet-serving requests (kubectl get csr)',
      )
    const [certificate, ...intermediates] = readCertificates(pem, servingFile)
    const trust = await clusterCa(readers)
    const atMs = readers.nowMs()
    const verdict = verifyCertificate(certificate, { trust, intermediates, usage: 'serverAuth', atMs })
    if (verdict.ok) return ok(`signed by ${formatName(certificate.issuer)}, which pods trust`)
    const isForeign = verdict.reason === 'untrusted' || verdict.reason === 'bad-signature'
    const advice = isForeign ? signerAdvice : 'see in the log of the edge why it is not replaced'
    return fail(`clients in pods refuse ${servingFile}: ${verdict.message}`, advice)
  } catch (error) {
    if (isForbidden(error)) throw error
    return fail((error as Error).message, 'restore the file, or remove it and start the edge again')
  }
}

async function clusterCa({ read }: DoctorReaders): Promise<readonly Certificate[]> {
  const pem = await read(clusterCaFile)
  if (pem === undefined) throw new Error(`${clusterCaFile} is missing`)
  return readCertificates(pem, clusterCaFile)
}

export async function checkEndpointAddress(readers: DoctorReaders): Promise<Finding> {
  const endpoint = await endpointIfKnown(readers)
  if (endpoint === undefined || endpoint.addresses.length === 0) {
    const reasons = [endpoint?.health?.reason, ...(endpoint?.problems ?? [])].filter((reason) => reason !== undefined)
    const why = reasons.length === 0 ? '' : `: ${reasons.join('; ')}`
    return warn(`the edge serves no endpoint at the moment${why}`, 'see the checks of link and serving certificate')
  }
  const own = readers.ownAddresses()
  const missing = endpoint.addresses.filter((address) => !isAlwaysThere(address) && !own.includes(address))
  const list = endpoint.addresses.join(', ')
  if (missing.length > 0)
    return fail(
      `no interface of this machine has ${missing.join(', ')}`,
      'run the edge as root or with CAP_NET_ADMIN, or add the address yourself; ip addr shows what there is',
    )
  if (endpoint.problems.length > 0) return warn(endpoint.problems.join('; '), 'see the log of the edge')
  if (endpoint.addresses.every(isAlwaysThere))
    return warn(
      `only ${list}: pods with a network of their own cannot reach the endpoint`,
      'run the edge as root or with CAP_NET_ADMIN, and not with --endpoint-address none, so that it has one that pods reach',
    )
  return ok(list)
}

export async function checkEndpointPort(readers: DoctorReaders): Promise<Finding> {
  const endpoint = await endpointIfKnown(readers)
  if (endpoint === undefined || endpoint.addresses.length === 0)
    return warn('there is nothing to connect to', 'see the checks before')
  const problems = await Promise.all(
    endpoint.addresses.map((address) => answerProblem(readers, reachable(address), endpoint.port)),
  )
  const problem = problems.find((each) => each !== undefined)
  return problem ?? ok(`TLS with ${servingFile} on ${endpoint.addresses.join(', ')}, port ${endpoint.port}`)
}

async function answerProblem(readers: DoctorReaders, host: string, port: number): Promise<Finding | undefined> {
  const where = `${host} port ${port}`
  let presented: Certificate
  try {
    presented = await readers.presentedCertificate(host, port)
  } catch (error) {
    return fail(`${where} does not answer: ${(error as Error).message}`, 'see the log of the edge, and local firewalls')
  }
  const pem = await readers.read(servingFile).catch(unlessForbidden)
  const kept = pem === undefined ? undefined : readCertificates(pem, servingFile)[0]
  if (presented.fingerprint !== kept?.fingerprint)
    return fail(
      `${where} answers with another certificate than ${servingFile} (${formatName(presented.subject)})`,
      'another program listens there, or the edge has not taken up its new certificate: see who listens, and restart the edge',
    )
  if (!speaksFor(presented, host))
    return fail(
      `the certificate does not name ${host}, so clients refuse it there`,
      `list ${host} in the --endpoint-addresses of the hub too, then restart the edge`,
    )
  return undefined
}

export async function checkLink(readers: DoctorReaders): Promise<Finding> {
  try {
    const { node, network, identity } = await askEdge(readers)
    if (identity?.ok === false)
      return fail(`the identity of ${node} does not count: ${identity.reason ?? ''}`, 'see the log of the edge')
    const links = network?.links ?? []
    const up = links.filter(isLinked)
    if (up.length > 0) return ok(`${node} is connected with ${up.map(({ hub }) => hub).join(', ')}`)
    const why = links.map(
      ({ hub, state, lastError }) => `${hub} ${state}${lastError === undefined ? '' : `: ${lastError}`}`,
    )
    return fail(`there is no link (${why.join('; ') || 'no hub is known'})`, 'check the network towards the hub')
  } catch (error) {
    if (isForbidden(error)) throw error
    return fail((error as Error).message, 'start the edge: causeway edge, or systemctl start causeway-edge')
  }
}

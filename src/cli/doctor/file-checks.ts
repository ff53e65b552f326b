/** The data folder and what is in it: whether it is whole, private, and in date. */
import { constants } from 'node:fs'
import { join } from 'node:path'
import { edgePaths } from '../../edge/identity/edge-files.ts'
import { readEdgeRecord } from '../../edge/identity/edge-record.ts'
import { ownCertificateProblem } from '../../edge/identity/own-certificate.ts'
import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import { caBundleSha256 } from '../../identity/join-token.ts'
import { parsePair } from '../../identity/pair-file.ts'
import {
  type DoctorReaders,
  type Finding,
  fail,
  isForbidden,
  ok,
  unlessForbidden,
  warn,
  wrongFolder,
} from './finding.ts'
import { askEdge } from './reported-status.ts'

/** Certificates are renewed long before; what has less than this share of its life left was not. */
const OVERDUE_LIFE_SHARE = 0.1

const writableByOthers = 0o022
const othersAccess = 0o077
const names = { record: 'edge.json', hubCa: 'ca.crt', kubernetesCa: 'kubernetes-ca.crt' }
/** Every pair of certificate and key that an edge keeps, by the name before the dot. */
const pairs = ['edge', 'serving', 'kubelet-client'] as const
const otherSecrets = ['join.key', 'kube-proxy.token', 'kubelet.kubeconfig']

export async function checkDataFolder({ dataDir, modeOf }: DoctorReaders): Promise<Finding> {
  const mode = await modeOf('.')
  if (mode === undefined)
    return wrongFolder(
      `there is no folder ${dataDir}`,
      'name the folder of the edge with --data-dir, and ask as root or its user',
    )
  if ((mode & constants.S_IFMT) !== constants.S_IFDIR)
    return wrongFolder(`${dataDir} is no folder`, 'name the folder of the edge with --data-dir')
  if ((mode & writableByOthers) !== 0)
    return fail(`others may write into ${dataDir} (mode ${shown(mode)})`, `chmod 0700 ${dataDir}`)
  return ok(`${dataDir}, mode ${shown(mode)}`)
}

export async function checkIdentity(readers: DoctorReaders): Promise<Finding> {
  const restore = 'restore the file, or join again with a token'
  try {
    const [record, certificate, key, hubCa, kubernetesCa] = await Promise.all(
      [names.record, 'edge.crt', 'edge.key', names.hubCa, names.kubernetesCa].map((name) => readers.read(name)),
    )
    if (record === undefined && certificate === undefined) return await withoutIdentity(readers)
    const paths = edgePaths(readers.dataDir)
    const { node, kubernetesCaSha256 } = readEdgeRecord(text(record, paths.record), paths.record)
    const pair = parsePair(text(certificate, paths.pair.certificate), text(key, paths.pair.key), paths.pair)
    const trust = readCertificates(text(hubCa, paths.hubCa), paths.hubCa)
    const problem = ownCertificateProblem(pair.chain, { trust, atMs: readers.nowMs(), dates: 'ignore', node })
    if (problem !== undefined) return fail(`${paths.pair.certificate}: ${problem.message}`, restore)
    const cluster = readCertificates(text(kubernetesCa, paths.kubernetesCa), paths.kubernetesCa)
    if (caBundleSha256(cluster) !== kubernetesCaSha256)
      return fail(`${paths.kubernetesCa} is not the Kubernetes CA that the join token named`, restore)
    return ok(`node ${node}`)
  } catch (error) {
    if (isForbidden(error)) throw error
    return fail((error as Error).message, restore)
  }
}

/** An edge may use certificates that others made, and `up` keeps those of its edges elsewhere. */
async function withoutIdentity(readers: DoctorReaders): Promise<Finding> {
  const { dataDir } = readers
  if ((await readers.modeOf('edges')) !== undefined) {
    const folder = join(dataDir, 'edges')
    const advice = `name that of one of its edges: --data-dir ${folder}/edge-1`
    return wrongFolder(`${dataDir} is the folder of "causeway up", not of an edge`, advice)
  }
  const node = await askEdge(readers).then((edge) => edge.node, unlessForbidden)
  if (node !== undefined) return ok(`node ${node}, by certificates that are kept elsewhere`)
  return fail(
    `${dataDir} holds no identity: this node has not joined`,
    'causeway edge join --hub URL --token-file FILE',
  )
}

function text(content: Buffer | undefined, path: string): string {
  if (content === undefined) throw new Error(`${path} is missing`)
  return content.toString('utf8')
}

export async function checkKeyModes({ modeOf }: DoctorReaders): Promise<Finding> {
  const secrets = [...pairs.map((name) => `${name}.key`), ...otherSecrets]
  const modes = await Promise.all(secrets.map(async (name) => ({ name, mode: await modeOf(name) })))
  const exposed = modes.filter(({ mode }) => mode !== undefined && (mode & othersAccess) !== 0)
  if (exposed.length > 0) {
    const list = exposed.map(({ name, mode = 0 }) => `${name} (mode ${shown(mode)})`).join(', ')
    return fail(`others may use ${list}`, `chmod 0600 ${exposed.map(({ name }) => name).join(' ')}`)
  }
  const found = modes.filter(({ mode }) => mode !== undefined)
  return ok(found.length === 0 ? 'there are no keys' : `private: ${found.map(({ name }) => name).join(', ')}`)
}

export async function checkCertificateDates(readers: DoctorReaders): Promise<Finding> {
  const nowMs = readers.nowMs()
  const found: string[] = []
  let overdue: Finding | undefined
  for (const name of pairs) {
    const file = `${name}.crt`
    const certificate = await leafOf(readers, file)
    if (certificate === undefined) continue
    const { notBeforeMs, notAfterMs } = certificate
    const until = new Date(notAfterMs).toISOString()
    if (nowMs < notBeforeMs)
      return fail(
        `${file} is valid only from ${new Date(notBeforeMs).toISOString()} on`,
        'set the clock of this machine',
      )
    if (nowMs > notAfterMs)
      return fail(
        `${file} has expired at ${until}`,
        'let the edge reach its hub; if that is refused, join again with a token',
      )
    if (notAfterMs - nowMs < (notAfterMs - notBeforeMs) * OVERDUE_LIFE_SHARE)
      overdue ??= warn(`${file} ends at ${until} and has not been renewed`, 'see why in the log of the edge')
    found.push(`${file} until ${until}`)
  }
  return overdue ?? ok(found.length === 0 ? 'there are no certificates' : found.join(', '))
}

/** What is damaged is told by the check of the identity or of the endpoint. */
async function leafOf({ read }: DoctorReaders, file: string): Promise<Certificate | undefined> {
  try {
    const pem = await read(file)
    return pem === undefined ? undefined : readCertificates(pem, file)[0]
  } catch (error) {
    return unlessForbidden(error)
  }
}

function shown(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}

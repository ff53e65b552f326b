/** The audit log of a real kube-apiserver: what each caller asked, in a form that is the same in every run. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from '../../remove-folder.ts'

interface AuditEvent {
  readonly auditID: string
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly userAgent?: string
  readonly sourceIPs?: readonly string[]
  readonly user: { readonly username: string }
  readonly responseStatus?: { readonly code: number }
}

export interface AuditLog {
  /** For the kube-apiserver that is to write it. */
  readonly flags: readonly string[]
  /** `verb URI status User-Agent` of every request of that user, each once. */
  requestsOf(username: string): Promise<string[]>
  /** In full, each once. */
  userAgentsOf(username: string): Promise<string[]>
  /** Where each request of that user has come from, first address first. */
  sourcesOf(username: string): Promise<(readonly string[])[]>
  /** `USER PATH?SELECTORS` of every watch that began and has not ended, of users whose names begin with one of these. */
  openWatches(...users: string[]): Promise<string[]>
  remove(): void
}

const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  // A watch is written when it starts: it ends only some time after its client went.
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
}

export async function prepareAuditLog(): Promise<AuditLog> {
  const directory = await mkdtemp(join(tmpdir(), 'causeway-audit-'))
  const policyFile = join(directory, 'policy.json')
  const logFile = join(directory, 'audit.log')
  await writeFile(policyFile, JSON.stringify(policy))
  const allEvents = async (): Promise<AuditEvent[]> => {
    const lines = (await readFile(logFile, 'utf8')).split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as AuditEvent)
  }
  const eventsOf = async (username: string): Promise<AuditEvent[]> =>
    (await allEvents()).filter(({ user }) => user.username === username)
  return {
    flags: [`--audit-policy-file=${policyFile}`, `--audit-log-path=${logFile}`],
    requestsOf: async (username) => [...new Set((await eventsOf(username)).map(describe))].toSorted(),
    userAgentsOf: async (username) =>
      [...new Set((await eventsOf(username)).map(({ userAgent = '' }) => userAgent))].toSorted(),
    sourcesOf: async (username) => (await eventsOf(username)).map(({ sourceIPs = [] }) => sourceIPs),
    openWatches: async (...users) => {
      const events = await allEvents()
      const ended = new Set(events.filter(({ stage }) => stage === 'ResponseComplete').map(({ auditID }) => auditID))
      return events
        .filter(({ verb, stage, auditID }) => verb === 'watch' && stage === 'ResponseStarted' && !ended.has(auditID))
        .filter(({ user }) => users.some((name) => user.username.startsWith(name)))
        .map(describeWatch)
        .toSorted()
    },
    remove: () => removeFolder(directory),
  }
}

function describeWatch({ user, requestURI }: AuditEvent): string {
  const { pathname, searchParams } = new URL(requestURI, 'https://none')
  const selectors = ['labelSelector', 'fieldSelector'].flatMap((name) => searchParams.get(name) ?? [])
  return [user.username, [pathname, ...selectors].join('?')].join(' ')
}

function describe({ verb, requestURI, userAgent = '', responseStatus }: AuditEvent): string {
  const uri = requestURI
    .replace(/\/namespaces\/[^/?]+/, '/namespaces/NAMESPACE')
    .replace(/resourceVersion=[1-9]\d*/, 'resourceVersion=VERSION')
    .replace(/timeout(Seconds)?=\w+/g, 'timeout$1=TIME')
  // Whatever follows the product is about this machine.
  const product = userAgent.split(/[\s/]/, 1)[0]
  return `${verb} ${uri} ${responseStatus?.code}${product === '' ? '' : ` ${product}`}`
}

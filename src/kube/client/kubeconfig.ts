/**
 * Kubeconfig files to a connection, with kubectl's rules: `KUBECONFIG` is a list of files of which missing ones are
 * skipped; for every name the first file that has it wins; so does the first current context.
 */
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import {
  type ConnectionConfig,
  ConnectionConfigError,
  type Impersonation,
  type Material,
  parseServer,
  type TlsSettings,
  type UserCredentials,
} from './connection.ts'
import { type Kubeconfig, type KubeconfigEntry, MAX_KUBECONFIG_BYTES, parseKubeconfig } from './kubeconfig-file.ts'
import { readFailureReason, readSmallFile } from './small-file.ts'

export interface KubeconfigOptions {
  /** One file that must exist. Without it: the `KUBECONFIG` list, else `~/.kube/config`. */
  readonly file?: string | undefined
  /** Overrides the current context. */
  readonly context?: string
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** What this client does not do with a user entry, and what to do instead. */
const unsupportedUserFields: Readonly<Record<string, string>> = {
  exec: 'credential plugins are not run; put a token, tokenFile or client certificate into the user entry',
  'auth-provider': 'auth providers are not supported; use a token, tokenFile or client certificate',
}

export async function loadKubeconfig(options: KubeconfigOptions = {}): Promise<ConnectionConfig> {
  const files = kubeconfigFiles(options)
  const loaded = await Promise.all(files.map((file) => readKubeconfig(file, options.file !== undefined)))
  const present = loaded.filter((config) => config !== undefined)
  if (present.length === 0) throw new ConnectionConfigError(`no kubeconfig found; looked for ${files.join(', ')}`)
  return resolveConnection(mergeKubeconfigs(present), options.context, files)
}

/** The files that would be read, in order, whether they exist or not. */
export function kubeconfigFiles(options: KubeconfigOptions = {}): string[] {
  if (options.file !== undefined) return [resolve(options.file)]
  const environment = options.environment ?? process.env
  const listed = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '')
  if (listed.length > 0) return [...new Set(listed.map((file) => resolve(file)))]
  return [join(environment['HOME'] || homedir(), '.kube', 'config')]
}

function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const firstWins = (pick: (config: Kubeconfig) => ReadonlyMap<string, KubeconfigEntry>) =>
    new Map(configs.toReversed().flatMap((config) => [...pick(config)]))
  return {
    currentContext: configs.find((config) => config.currentContext !== undefined)?.currentContext,
    clusters: firstWins((config) => config.clusters),
    users: firstWins((config) => config.users),
    contexts: firstWins((config) => config.contexts),
  }
}

function resolveConnection(
  config: Kubeconfig,
  contextName: string | undefined,
  files: readonly string[],
): ConnectionConfig {
  const name = contextName ?? config.currentContext
  if (name === undefined) {
    const known = [...config.contexts.keys()].join(', ') || 'none'
    throw new ConnectionConfigError(`${files.join(', ')}: no current-context; name one of the contexts: ${known}`)
  }
  const context = config.contexts.get(name)
  if (context === undefined) {
    const known = [...config.contexts.keys()].join(', ') || 'none'
    throw new ConnectionConfigError(`${files.join(', ')}: no context ${JSON.stringify(name)}; known contexts: ${known}`)
  }
  const cluster = referenced(context, 'cluster', config.clusters)
  // A context may leave the user away: then requests are anonymous.
  const user = context.has('user') ? referenced(context, 'user', config.users) : undefined
  const impersonation = user === undefined ? undefined : impersonationOf(user)
  return {
    source: `context ${JSON.stringify(name)} of ${context.file}`,
    server: serverOf(cluster),
    namespace: context.text('namespace') ?? 'default',
    tls: tlsOf(cluster, user),
    credentials: user === undefined ? { type: 'anonymous' } : credentialsOf(user),
    impersonation,
  }
}

async function readKubeconfig(file: string, required: boolean): Promise<Kubeconfig | undefined> {
  let content: Buffer
  try {
    content = await readSmallFile(file, MAX_KUBECONFIG_BYTES)
  } catch (cause) {
    const reason = readFailureReason(cause)
    if (reason === 'ENOENT' && !required) return undefined
    throw new ConnectionConfigError(`cannot read kubeconfig ${file}: ${reason}`, { cause })
  }
  return parseKubeconfig(content.toString('utf8'), file)
}

function referenced(context: KubeconfigEntry, field: string, entries: ReadonlyMap<string, KubeconfigEntry>) {
  const name = context.text(field)
  if (name === undefined) throw context.error(`names no ${field}`)
  const entry = entries.get(name)
  if (entry === undefined) throw context.error(`names ${field} ${JSON.stringify(name)}, which no file defines`)
  return entry
}

function serverOf(cluster: KubeconfigEntry): string {
  const server = cluster.text('server')
  if (server === undefined) throw cluster.error('has no server')
  if (cluster.has('proxy-url')) {
    throw cluster.error('proxy-url is not supported; reach the server directly or through a tunnel and remove it')
  }
  return parseServer(server, `kubeconfig ${cluster.file}: ${cluster.title}: server`)
}

function tlsOf(cluster: KubeconfigEntry, user: KubeconfigEntry | undefined): TlsSettings {
  const ca = materialOf(cluster, 'certificate-authority')
  const skipVerify = cluster.flag('insecure-skip-tls-verify')
  if (skipVerify && ca !== undefined) {
    throw cluster.error('insecure-skip-tls-verify and a certificate authority exclude each other; remove one')
  }
  const certificate = user === undefined ? undefined : materialOf(user, 'client-certificate')
  const key = user === undefined ? undefined : materialOf(user, 'client-key')
  if (user !== undefined && (certificate === undefined) !== (key === undefined)) {
    throw user.error(
      `has a client ${certificate === undefined ? 'key without a certificate' : 'certificate without a key'}`,
    )
  }
  const serverName = cluster.text('tls-server-name')
  return {
    skipVerify,
    ca,
    clientCertificate: certificate === undefined || key === undefined ? undefined : { certificate, key },
    serverName,
  }
}

function credentialsOf(user: KubeconfigEntry): UserCredentials {
  for (const [field, advice] of Object.entries(unsupportedUserFields)) {
    if (user.has(field)) throw user.error(`uses ${field}: ${advice}`)
  }
  const tokenFile = user.path('tokenFile')
  const token = user.text('token')
  const username = user.text('username')
  if (username !== undefined && (tokenFile ?? token) !== undefined) {
    throw user.error('has both a token and a user name; remove one')
  }
  if (tokenFile !== undefined) return { type: 'token', token: { file: tokenFile } }
  if (token !== undefined) return { type: 'token', token: { data: Buffer.from(token) } }
  if (username !== undefined) return { type: 'basic', username, password: user.text('password') ?? '' }
  return { type: 'anonymous' }
}

function impersonationOf(user: KubeconfigEntry): Impersonation | undefined {
  const name = user.text('as')
  const uid = user.text('as-uid')
  const groups = user.texts('as-groups')
  const extra = user.textLists('as-user-extra')
  if (name === undefined) {
    const stray = uid !== undefined || groups.length > 0 || Object.keys(extra).length > 0
    if (stray) throw user.error('as-uid, as-groups and as-user-extra need a user to impersonate; set as')
    return undefined
  }
  return { user: name, groups, extra, uid }
}

/** `<field>-data` holds base64 and wins over `<field>`, which names a file. */
function materialOf(entry: KubeconfigEntry, field: string): Material | undefined {
  const encoded = entry.text(`${field}-data`)
  if (encoded === undefined) {
    const file = entry.path(field)
    return file === undefined ? undefined : { file }
  }
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(encoded)) throw entry.error(`${field}-data is not base64`)
  return { data: Buffer.from(encoded, 'base64') }
}

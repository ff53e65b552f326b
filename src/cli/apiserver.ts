/**
 * `causeway apiserver`: a Kubernetes API server that needs nothing installed.
 */
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Command } from 'commander'
import { ApiServer } from '../apiserver/api-server.ts'
import { FileSink } from '../apiserver/audit/file-sink.ts'
import type { AuditSink } from '../apiserver/audit/sink.ts'
import { StreamSink } from '../apiserver/audit/stream-sink.ts'
import { EtcdStore } from '../apiserver/storage/etcd-store.ts'
import { LmdbStore } from '../apiserver/storage/lmdb-store.ts'
import { MemoryStore } from '../apiserver/storage/memory-store.ts'
import type { Store } from '../apiserver/storage/store.ts'
import type { Clock } from '../runtime/clock.ts'
import { readRegularFile } from '../runtime/files/regular-file.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { BUILD } from './build.ts'
import { type ApiServerConfig, apiServerRole } from './config/apiserver.ts'
import { addRoleFlags } from './config/flags.ts'
import { loadConfig } from './config/load.ts'
import { STANDARD_OUTPUT } from './config/values.ts'
import type { CommandContext } from './context.ts'
import { CommandError } from './failure.ts'
import { explainReadFailure } from './read-failure.ts'
import { roleSurroundings } from './role-surroundings.ts'
import { addressRemedy, runRole } from './run-role.ts'

const HELP = `
Runs until stopped. Prints a line that starts with "ready" on stdout once it
serves; logs go to stderr. Certificates and an administrator's kubeconfig are
made in the data folder on first start and kept.

Examples:
  causeway apiserver
  kubectl --kubeconfig .causeway/apiserver/admin.kubeconfig get namespaces
  causeway apiserver --data-dir /tmp/try --secure-port 0 --storage memory
`

export function addApiServerCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('apiserver')
    .description('run a Kubernetes API server, with its data in a folder')
    .addHelpText('after', HELP)
    .action(async (flags: Record<string, unknown>) => {
      const { environment, workingDir } = context
      await runApiServer(context, loadConfig(apiServerRole, { flags, environment, workingDir }).values)
    })
  addRoleFlags(command, apiServerRole)
}

async function runApiServer(context: CommandContext, config: ApiServerConfig): Promise<void> {
  const { clock, logger, health, registry, net, dataDir, healthServer } = roleSurroundings(
    context,
    apiServerRole,
    config,
    { hasControlSocket: false },
  )
  const address = { host: config.bindAddress, port: config.securePort }
  const apiServer = new ApiServer({
    dataDir: config.dataDir,
    address,
    dnsNames: config.certNames.filter((name) => isIP(name) === 0),
    ipAddresses: config.certNames.filter((name) => isIP(name) !== 0),
    clock,
    logger,
    health,
    registry,
    sharesStore: config.etcdServers.length > 0,
    sharesPki: config.etcdServers.length > 0 && config.pkiInStore,
    authorizationModes: config.authorizationMode,
    disabledAdmissionPlugins: config.disableAdmissionPlugins,
    skippedControllers: config.skipControllers,
    maxConnectionsPerAddress: config.maxConnectionsPerAddress,
    openStore: () => openStore(config, clock),
    tokens: config.tokenAuthFile === undefined ? undefined : readTokens(config.tokenAuthFile),
    ...auditLog(config.auditLogPath, context, logger),
    clientCas: config.clientCaFile === undefined ? [] : [readClientCas(config.clientCaFile)],
  })
  const run = {
    name: apiServerRole.name,
    // The folder first and therefore last to go; health before what takes time.
    parts: [dataDir, healthServer, apiServer],
    logger,
    net,
    drainTimeoutMs: config.drainTimeout,
    addressRemedy: addressRemedy(apiServerRole, { securePort: address, healthAddress: config.healthAddress }),
    onReady: () => {
      context.stdout.write(`ready  causeway apiserver ${BUILD.version} on ${apiServer.url}\n`)
      context.stdout.write(`  kubeconfig  ${apiServer.adminKubeconfig}\n`)
    },
  }
  await runRole(context, run, (lifecycle) => {
    health.addReadiness('lifecycle', () => lifecycle.health())
    health.addReadiness('data-dir', () => dataDir.health())
  })
}

async function openStore(config: ApiServerConfig, clock: Clock): Promise<Store> {
  if (config.etcdServers.length === 0) {
    return config.storage === 'memory'
      ? new MemoryStore(clock)
      : await LmdbStore.open(join(config.dataDir, 'store'), clock)
  }
  const read = (file: string | undefined, what: string): Buffer | undefined =>
    file === undefined ? undefined : readCredential(file, what)
  const files = {
    ca: read(config.etcdCafile, 'CA file of etcd'),
    cert: read(config.etcdCertfile, 'certificate for etcd'),
    key: read(config.etcdKeyfile, 'key for etcd'),
  }
  const tls = Object.fromEntries(Object.entries(files).filter(([, content]) => content !== undefined))
  const { etcdServers: endpoints, etcdPrefix: keyPrefix } = config
  return new EtcdStore({ endpoints, keyPrefix, tls: Object.keys(tls).length === 0 ? undefined : tls }, clock)
}

function auditLog(path: string | undefined, { stdout }: CommandContext, logger: Logger): { auditLog?: AuditSink } {
  if (path === undefined) return {}
  if (path === STANDARD_OUTPUT) return { auditLog: new StreamSink(stdout) }
  return { auditLog: new FileSink({ path, logger: componentLogger(logger, 'audit') }) }
}

function readTokens(file: string): { csv: string; source: string } {
  return { csv: readCredential(file, 'token file').toString('utf8'), source: file }
}

function readClientCas(file: string): { pem: string; source: string } {
  return { pem: readCredential(file, 'client CA file').toString('utf8'), source: file }
}

/** Thousands of tokens or CAs; a file that is larger was not meant. */
const MAX_CREDENTIAL_FILE_BYTES = 4 * 1024 * 1024

function readCredential(file: string, what: string): Buffer {
  let bytes: Buffer
  try {
    bytes = readRegularFile(file, { maxBytes: MAX_CREDENTIAL_FILE_BYTES })
  } catch (error) {
    throw new CommandError(`cannot read the ${what} ${file}: ${explainReadFailure(error)}`)
  }
  if (bytes.length > MAX_CREDENTIAL_FILE_BYTES) {
    throw new CommandError(`the ${what} ${file} is larger than ${MAX_CREDENTIAL_FILE_BYTES} bytes`)
  }
  return bytes
}

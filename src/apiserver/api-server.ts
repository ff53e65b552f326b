/** The API server as one part of a process: keys, store, objects, port. */
import { join } from 'node:path'
import type { Listener } from '../http/server/listener.ts'
import { keyExposure } from '../identity/key-exposure.ts'
import { isInsufficientStorage } from '../kube/status/predicates.ts'
import { formatAddress } from '../network/listen.ts'
import type { Part, RunningPart } from '../process/lifecycle.ts'
import { stopInReverse } from '../process/part-group.ts'
import { componentLogger } from '../telemetry/logger.ts'
import type { ApiServerOptions } from './api-server-options.ts'
import { composeApiServer } from './compose.ts'
import { keyFiles, loadPki, type Pki, writeAdminKubeconfig } from './pki/pki.ts'
import { SharedAuthorities } from './pki/shared-authorities.ts'
import { SetupError } from './setup-error.ts'
import { roomLoggedStore } from './storage/room-log.ts'
import type { Store } from './storage/store.ts'
import { StoreFullError } from './storage/store-errors.ts'
import { tlsFiles } from './trust.ts'

export interface ApiServerSettings extends Omit<ApiServerOptions, 'pki' | 'store'> {
  readonly dataDir: string
  /** What clients call the server besides its address. */
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  /** Whether servers on the same store have their CAs and ServiceAccount key there, and not each its own on its disk. */
  readonly sharesPki?: boolean | undefined
  openStore(): Promise<Store>
}

/** The ClusterIP of `default/kubernetes`: the first of the service range. */
const KUBERNETES_SERVICE_IP = '10.96.0.1'

/** Certificates are made again in the last fifth of their life, so once a day is often enough. */
const CERTIFICATE_CHECK_MS = 86_400_000

const serviceNames = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]

export class ApiServer implements Part {
  readonly name = 'apiserver'
  readonly #settings: ApiServerSettings
  #url = ''

  constructor(settings: ApiServerSettings) {
    this.#settings = settings
  }

  /** `https://host:port`, once it serves. */
  get url(): string {
    return this.#url
  }

  get adminKubeconfig(): string {
    return join(this.#settings.dataDir, 'admin.kubeconfig')
  }

  async start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    try {
      return await this.#start(signal, fail)
    } catch (error) {
      throw explainStart(error)
    }
  }

  async #start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    const { dataDir, clock, dnsNames, ipAddresses, sharesPki } = this.#settings
    const names = {
      dnsNames: [...serviceNames, 'localhost', ...dnsNames],
      ipAddresses: ['127.0.0.1', '::1', KUBERNETES_SERVICE_IP, ...ipAddresses],
    }
    const store = await this.#openStore()
    const running: RunningPart[] = [{ stop: () => store.close() }]
    try {
      const shared = sharesPki === true ? new SharedAuthorities(store, dataDir) : undefined
      const load = (): Promise<Pki> => loadPki(dataDir, names, clock, shared)
      const pki = await load()
      await this.#warnOfExposedKeys()
      const { parts, listener } = composeApiServer(this.#optionsWith(pki, store))
      for (const part of parts) running.push(await part.start(signal, fail))
      running.push(this.#keepCertificatesFresh(listener, load))
      const host = ['0.0.0.0', '::'].includes(listener.address.host) ? '127.0.0.1' : listener.address.host
      this.#url = `https://${formatAddress({ host, port: listener.address.port })}`
      await writeAdminKubeconfig(this.adminKubeconfig, this.#url, pki)
    } catch (error) {
      await stopInReverse(running, AbortSignal.abort()).catch(() => {})
      throw error
    }
    return { stop: (deadline) => stopInReverse(running, deadline) }
  }

  #optionsWith(pki: Pki, store: Store): ApiServerOptions {
    const { address, clock, logger, health, registry, sharesStore, tokens, authorizationModes } = this.#settings
    const { disabledAdmissionPlugins, skippedControllers, clientCas, auditLog } = this.#settings
    return {
      address,
      pki,
      store,
      clock,
      logger,
      health,
      registry,
      sharesStore,
      tokens,
      authorizationModes,
      disabledAdmissionPlugins,
      skippedControllers,
      clientCas,
      auditLog,
      maxConnectionsPerAddress: this.#settings.maxConnectionsPerAddress,
    }
  }

  async #openStore(): Promise<Store> {
    const logger = componentLogger(this.#settings.logger, 'store')
    return roomLoggedStore(await this.#settings.openStore(), logger, () => this.#url !== '')
  }

  async #warnOfExposedKeys(): Promise<void> {
    const { dataDir, logger } = this.#settings
    for (const why of await Promise.all(keyFiles(dataDir).map((path) => keyExposure(path))))
      if (why !== undefined) logger.warn({ why }, 'a key of this API server is not safe')
  }

  /** A server that runs for a year must not end with its certificate; loading makes again what nears its end. */
  #keepCertificatesFresh(listener: Listener, load: () => Promise<Pki>): RunningPart {
    const { clock, logger, clientCas } = this.#settings
    const stopped = new AbortController()
    const run = async (): Promise<void> => {
      for (;;) {
        await clock.sleep(CERTIFICATE_CHECK_MS, stopped.signal)
        try {
          const pki = await load()
          listener.replaceCertificate(tlsFiles(pki, clientCas))
          await writeAdminKubeconfig(this.adminKubeconfig, this.#url, pki)
        } catch (error) {
          logger.error({ err: error }, 'the certificates could not be renewed; it will be tried again')
        }
      }
    }
    const running = run().catch(() => {})
    return {
      stop: async () => {
        stopped.abort()
        await running
      },
    }
  }
}

/** An error that says what to do where we know; otherwise the one that was given. */
function explainStart(error: unknown): unknown {
  const full = lackOfRoom(error)
  if (full === undefined) return error
  return new SetupError(`the API server cannot write what it needs to start: ${full.message}`, { cause: error })
}

/** The store's own words: what a client would be told begins with an object that nobody here asked for. */
function lackOfRoom(error: unknown): StoreFullError | undefined {
  if (error instanceof StoreFullError) return error
  const { cause } = isInsufficientStorage(error) ? (error as Error) : {}
  return cause instanceof StoreFullError ? cause : undefined
}

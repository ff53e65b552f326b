/**
 * A connection to an etcd cluster: several members, one of them in use; calls with a deadline; and everything ends when
 * the client is closed.
 *
 * A call is sent only on a channel that is up, so that a write that finds nobody is known not to have happened. A call
 * that was sent and lost goes to the next member if it may be repeated; a write is not, its caller must look.
 */
import {
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import type { Clock } from '../../../runtime/clock.ts'
import { StoreUnavailableError, StoreUsageError } from '../store-errors.ts'
import { decode, encode, type Input, type MessageTable, type Output } from './codec.ts'
import { isMembersFault, toStoreError } from './errors.ts'
import { type Method, RANGE } from './messages.ts'

/** How long a call may look for a member that is up. */
const CONNECT_TIMEOUT_MS = 3_000
/** How long a member may take to answer: longer than it needs to notice that it has lost its leader. */
const CALL_TIMEOUT_MS = 10_000
/** A member that does not answer a ping is given up. etcd takes pings more often than every 5 s for an attack. */
const KEEPALIVE_INTERVAL_MS = 20_000
const KEEPALIVE_TIMEOUT_MS = 10_000
/** How soon the health of a store must be known: a probe that waits longer says that it is not reachable. */
const PROBE_TIMEOUT_MS = 500
/** The waits between two attempts to connect to the same member, the first and the longest. */
const MIN_RECONNECT_MS = 100
const MAX_RECONNECT_MS = 2_000

export interface EtcdTls {
  /** PEM; without it the system's authorities are trusted. */
  readonly ca?: Buffer
  /** Client certificate and key, PEM; both or none. */
  readonly cert?: Buffer
  readonly key?: Buffer
}

export interface EtcdClientOptions {
  /** `https://host:port` or `http://host:port`. */
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls | undefined
}

export type EtcdStream<Request extends MessageTable, Response extends MessageTable> = ClientDuplexStream<
  Input<Request>,
  Output<Response>
>

const CHANNEL_OPTIONS: ClientOptions = {
  'grpc.keepalive_time_ms': KEEPALIVE_INTERVAL_MS,
  'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
  'grpc.initial_reconnect_backoff_ms': MIN_RECONNECT_MS,
  'grpc.max_reconnect_backoff_ms': MAX_RECONNECT_MS,
  // A list is one message, however long.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.enable_http_proxy': 0,
}

interface Cancellable {
  cancel(): void
}

export class EtcdClient {
  readonly #clock: Clock
  readonly #members: readonly Client[]
  readonly #endpoints: readonly string[]
  readonly #calls = new Set<Cancellable>()
  #preferred = 0
  readonly #closing = new AbortController()

  constructor({ endpoints, tls }: EtcdClientOptions, clock: Clock) {
    if (endpoints.length === 0) throw new StoreUsageError('an etcd client needs at least one endpoint')
    this.#clock = clock
    this.#endpoints = endpoints
    this.#members = endpoints.map((endpoint) => connect(endpoint, tls))
  }

  get closed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Throws StoreUnavailableError, StoreFullError or EtcdRefusedError. */
  async call<Request extends MessageTable, Response extends MessageTable>(
    method: Method<Request, Response>,
    request: Input<Request>,
  ): Promise<Output<Response>> {
    let attemptsLeft = method.repeatable ? this.#members.length + 1 : 1
    for (;;) {
      const index = await this.#memberThatIsUp()
      try {
        return await this.#send(this.#memberAt(index), method, request)
      } catch (error) {
        const failure = error as ServiceError
        if (this.closed) throw closedError()
        if (isMembersFault(failure)) this.#avoid(index)
        attemptsLeft--
        if (!isMembersFault(failure) || attemptsLeft === 0) throw toStoreError(failure)
      }
    }
  }

  /** The stream's errors are the reader's to see; that nobody reads it does no harm. */
  async open<Request extends MessageTable, Response extends MessageTable>(
    method: Method<Request, Response>,
  ): Promise<EtcdStream<Request, Response>> {
    const index = await this.#memberThatIsUp()
    const stream = this.#memberAt(index).makeBidiStreamRequest<Input<Request>, Output<Response>>(
      method.path,
      (message) => encode(method.request, message),
      (bytes) => decode(method.response, bytes),
      requireLeader(),
    )
    this.#calls.add(stream)
    stream.on('error', (error: ServiceError) => {
      if (isMembersFault(error)) this.#avoid(index)
    })
    stream.on('close', () => this.#calls.delete(stream))
    return stream
  }

  close(): void {
    this.#closing.abort()
    for (const call of this.#calls) call.cancel()
    for (const member of this.#members) member.close()
  }

  #send<Request extends MessageTable, Response extends MessageTable>(
    member: Client,
    method: Method<Request, Response>,
    request: Input<Request>,
    timeoutMs = CALL_TIMEOUT_MS,
  ): Promise<Output<Response>> {
    return new Promise((resolve, reject) => {
      const call = member.makeUnaryRequest<Input<Request>, Output<Response>>(
        method.path,
        (message) => encode(method.request, message),
        (bytes) => decode(method.response, bytes),
        request,
        requireLeader(),
        { deadline: this.#clock.nowMs() + timeoutMs },
        (error, response) => {
          this.#calls.delete(call)
          if (error !== null) reject(error)
          else resolve(response as Output<Response>)
        },
      )
      this.#calls.add(call)
    })
  }

  /** The index of the preferred member if it is up, else of another that is, else of the first that gets there. */
  async #memberThatIsUp(): Promise<number> {
    if (this.closed) throw closedError()
    const order = this.#members.map((_, offset) => (this.#preferred + offset) % this.#members.length)
    this.#preferred = order.find((index) => this.#isUp(index)) ?? (await this.#firstToGetUp(order))
    return this.#preferred
  }

  #isUp(index: number): boolean {
    return this.#memberAt(index).getChannel().getConnectivityState(false) === connectivityState.READY
  }

  async #firstToGetUp(order: readonly number[]): Promise<number> {
    try {
      return await Promise.any(order.map((index) => this.#ready(index)))
    } catch {
      if (this.closed) throw closedError()
      throw new StoreUnavailableError(`no etcd answers at ${this.#endpoints.join(', ')}: ${await this.#whyNot()}`)
    }
  }

  /** A channel does not tell why it is not up; a call on it does. */
  async #whyNot(): Promise<string> {
    try {
      await this.#send(
        this.#memberAt(this.#preferred),
        RANGE,
        { key: Buffer.from([0]), countOnly: true },
        PROBE_TIMEOUT_MS,
      )
      return 'the connection came up too late'
    } catch (error) {
      return (error as ServiceError).details
    }
  }

  #ready(index: number): Promise<number> {
    const { signal } = this.#closing
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', reject, { once: true })
      this.#memberAt(index).waitForReady(this.#clock.nowMs() + CONNECT_TIMEOUT_MS, (error) => {
        signal.removeEventListener('abort', reject)
        if (error === undefined) resolve(index)
        else reject(error)
      })
    })
  }

  #avoid(index: number): void {
    if (this.#preferred === index) this.#preferred = (index + 1) % this.#members.length
  }

  #memberAt(index: number): Client {
    return this.#members[index] as Client
  }
}

/** A member that has lost its leader refuses, instead of serving what may be old, or waiting for ever. */
function requireLeader(): Metadata {
  const metadata = new Metadata()
  metadata.set('hasleader', 'true')
  return metadata
}

function connect(endpoint: string, tls: EtcdTls = {}): Client {
  const match = /^(https?):\/\/([^/]+:\d+)\/?$/.exec(endpoint)
  if (match === null) {
    throw new StoreUsageError(`the etcd endpoint ${endpoint} is not of the form https://host:port or http://host:port`)
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new StoreUsageError('an etcd client certificate needs its key, and a key its certificate')
  }
  const [, scheme, address] = match
  const secure = scheme === 'https'
  const channel = secure
    ? credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null)
    : credentials.createInsecure()
  return new Client(address as string, channel, CHANNEL_OPTIONS)
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('the store is closed')
}

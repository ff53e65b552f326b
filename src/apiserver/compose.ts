/**
 * The API server, put together. Read it from the bottom: delegates own the paths, filters stand around them in the order
 * in which a request meets them, and the listener hands requests in.
 */
import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import type { Exchange } from '../http/server/exchange.ts'
import { Listener, type TlsFiles } from '../http/server/listener.ts'
import { stalledReaderLog } from '../http/server/stalled-reader-log.ts'
import { type Certificate, certificatePem, readCertificates } from '../identity/certificate.ts'
import { UNREAD_REQUEST } from '../kube/request-info.ts'
import { formatAddress, type ListenAddress } from '../network/listen.ts'
import type { Part } from '../process/lifecycle.ts'
import { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import { turnFor } from '../runtime/turns.ts'
import type { HealthChecks } from '../telemetry/health.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import { lookupIn } from './admission/lookup.ts'
import { admissionPlugins } from './admission/plugins.ts'
import { Audit } from './audit/audit.ts'
import type { AuditSink } from './audit/sink.ts'
import type { Authenticator } from './auth/authenticator.ts'
import { CertificateAuthenticator } from './auth/authn/client-certificate.ts'
import { RequestHeaderAuthenticator } from './auth/authn/request-header.ts'
import { StaticTokens } from './auth/authn/static-tokens.ts'
import type { AuthorizationMode } from './auth/mode-names.ts'
import { DEFAULT_AUTHORIZATION_MODES } from './auth/mode-names.ts'
import { allowsAnonymous } from './auth/modes.ts'
import { NodeGraph } from './auth/node/graph.ts'
import { EscalationCheck } from './auth/rbac/escalation.ts'
import { RbacView } from './auth/rbac/view.ts'
import { standardAuthorizer } from './auth/standard-authorizer.ts'
import { serviceAccountTokens } from './auth/tokens/authenticator.ts'
import type { FindObject } from './auth/tokens/find-object.ts'
import { TokenIssuer } from './auth/tokens/issuer.ts'
import { legacyServiceAccountTokens } from './auth/tokens/legacy-authenticator.ts'
import type { TokenAuthenticator } from './auth/tokens/token-authenticator.ts'
import { reviewToken } from './auth/tokens/token-review.ts'
import { ApiTokenAuthenticator, BearerAuthenticator, UnionTokenAuthenticator } from './auth/tokens/union-tokens.ts'
import { withAuditId } from './chain/audit-id.ts'
import { withAuditLog } from './chain/audit-log.ts'
import { withAuthentication } from './chain/authentication.ts'
import { withAuthorization } from './chain/authorization.ts'
import { withCacheControl } from './chain/cache-control.ts'
import { withDeadline } from './chain/deadline.ts'
import { withErrorResponses } from './chain/errors.ts'
import { withImpersonation } from './chain/impersonation.ts'
import { withInFlightLimits } from './chain/in-flight.ts'
import { withRequestInfo } from './chain/request-info.ts'
import { withRequestLog } from './chain/request-log.ts'
import { withRequestMetrics } from './chain/request-metrics.ts'
import { composeControllers } from './compose-controllers.ts'
import { DEFAULT_CONNECTIONS_PER_ADDRESS } from './connection-limit.ts'
import type { ReplaceableController } from './controllers/replaceable.ts'
import type { Trust } from './controllers/trust-config-map.ts'
import { Admission } from './core/admission.ts'
import { CoreHandler } from './core/core-handler.ts'
import { HistoryKeeper } from './core/history.ts'
import { ObjectCache } from './core/object-cache.ts'
import { followPolicy } from './core/policy-view.ts'
import { Reader } from './core/read.ts'
import { Renderer } from './core/renderer.ts'
import { Reviews } from './core/reviews.ts'
import { Subresources } from './core/subresources/subresources.ts'
import { TokenSubresource } from './core/subresources/token.ts'
import { objectLookup } from './core/token-objects.ts'
import { Maker } from './core/write/maker.ts'
import { Writer } from './core/write/writer.ts'
import { delegation } from './delegation/delegate.ts'
import { documentsHandler } from './delegation/documents-handler.ts'
import { healthHandler } from './delegation/health-handler.ts'
import { notFoundHandler } from './delegation/not-found.ts'
import { openIdHandler } from './delegation/openid-handler.ts'
import { routes } from './delegation/routes.ts'
import { builtInGroupVersions } from './discovery/built-in.ts'
import { DiscoveryDocuments } from './discovery/documents.ts'
import { DiscoveryRegistry } from './discovery/source.ts'
import { HeavyWork } from './heavy/heavy-work.ts'
import { strategyFor } from './kinds/registry.ts'
import { createMetrics } from './metrics/metrics.ts'
import { addObjectMetrics } from './metrics/object-metrics.ts'
import { measuredStore } from './metrics/store-metrics.ts'
import { OpenApiDocuments } from './openapi/documents.ts'
import { builtInParts, OpenApiRegistry } from './openapi/source.ts'
import type { Pki } from './pki/pki.ts'
import { chain, type Handler, type RequestContext } from './request/handler.ts'
import { anonymousUser } from './request/user.ts'
import { DEFAULT_SERVICE_CIDR, ServiceRange } from './services/ip-range.ts'
import { ServiceAllocator } from './services/service-allocator.ts'
import type { Store } from './storage/store.ts'

/** How long the cache waits before it follows a store again that went away. */
const storeRetryMs = 1_000

export interface ApiServerOptions {
  readonly address: ListenAddress
  readonly pki: Pki
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  readonly health: HealthChecks
  readonly registry: Registry
  /** The text of a token file, and its name for messages. */
  readonly tokens?: { readonly csv: string; readonly source: string }
  /** Asked in this order. */
  readonly authorizationModes?: readonly AuthorizationMode[]
  readonly disabledAdmissionPlugins?: readonly string[]
  /** Controllers to leave to a kube-controller-manager. */
  readonly skippedControllers?: readonly ReplaceableController[]
  /** True when other API servers may use the same store. */
  readonly sharesStore: boolean
  /** Further CAs whose client certificates are believed, in PEM. */
  readonly clientCas?: readonly CaBundle[]
  /** Where audit events go; absent: nowhere. */
  readonly auditLog?: AuditSink
  /** 0 for as many as there may be in all. */
  readonly maxConnectionsPerAddress?: number
}

/** Certificates in PEM, and where they are from, for messages. */
export interface CaBundle {
  readonly pem: string
  readonly source: string
}

export interface ApiServer {
  /** In the order in which they start. */
  readonly parts: readonly Part[]
  readonly listener: Listener
}

export function composeApiServer(given: ApiServerOptions): ApiServer {
  const logger = componentLogger(given.logger, 'apiserver')
  // Under everything that a client sets off, timers included.
  const net = new SafetyNet({ ...given, logger })
  const options = { ...given, clock: net.timers(given.clock) }
  const { clock, pki, health, registry } = options
  const metrics = createMetrics(registry)
  const audit = new Audit(registry, options.auditLog)
  const store = measuredStore(options.store, clock, registry)
  const cache = new ObjectCache(store, logger)
  addObjectMetrics(registry, cache)
  const view = new RbacView()
  const graph = new NodeGraph()
  const modes = options.authorizationModes ?? DEFAULT_AUTHORIZATION_MODES
  const authorizer = standardAuthorizer({
    graph,
    source: view,
    modes,
    alwaysAllowPaths: ['/healthz', '/livez', '/readyz'],
  })
  const escalation = new EscalationCheck(view, authorizer)
  const serviceRange = new ServiceRange(DEFAULT_SERVICE_CIDR)
  const allocator = new ServiceAllocator({
    cache,
    clock,
    range: serviceRange,
    ...(options.sharesStore ? { store } : {}),
  })
  const admission = new Admission(
    admissionPlugins(
      {
        lookup: lookupIn(cache),
        clock,
        authorizer,
        escalation,
        audit: (note) => logger.info(note, 'a pod is not what the audit label of its namespace asks for'),
      },
      options.disabledAdmissionPlugins ?? [],
    ),
  )
  const find = objectLookup(cache, store)
  const issuer = new TokenIssuer({ key: pki.serviceAccountKey })
  const tokens = tokenAuthenticator(options, issuer, find)
  const tokenSubresource = new TokenSubresource({ issuer, find, clock, admission })
  const heavy = new HeavyWork({ clock, logger })
  const writer = new Writer({
    store,
    cache,
    clock,
    admission,
    allocators: [allocator],
    maker: new Maker({ heavy, strategyOf: strategyFor }),
    strategyOf: strategyFor,
  })
  const reader = new Reader(store, cache, clock)
  const subresources = new Subresources({ reader, writer, clock, authorizer, nodes: undefined })
  const renderer = new Renderer(heavy)
  const reviews = new Reviews({
    authorizer,
    renderer,
    reviewToken: (review) => reviewToken(review, tokens, issuer.apiAudiences),
  })
  const core = new CoreHandler({
    store,
    cache,
    reader,
    writer,
    clock,
    renderer,
    authorizer,
    special: async (context, info) =>
      (await reviews.handle(context, info)) ||
      (await tokenSubresource.handle(context, info)) ||
      (await subresources.handle(context, info)),
  })
  const served = builtInGroupVersions()
  const tellStalled = stalledReaderLog(logger, clock)
  const listener = new Listener({
    address: options.address,
    tls: tlsFiles(pki, options.clientCas),
    clock,
    net,
    ...perAddress(options),
    handshakeFailed: () => metrics.access.handshakeFailed(),
    connectionRefused: () => metrics.access.connectionRefused(),
    readerStalled: (unsentBytes) => {
      metrics.access.readerStalled()
      tellStalled(unsentBytes)
    },
    serve: (exchange) => handler(contextOf(exchange, clock)),
  })
  const discovery = new DiscoveryDocuments({ source: new DiscoveryRegistry(served), serverAddress: '127.0.0.1:6443' })
  const openApi = new OpenApiDocuments(new OpenApiRegistry(builtInParts(served)), clock)

  const delegates: Handler = delegation(
    [
      // Probes first: they must answer whatever else is wrong.
      healthHandler(health, registry),
      // Paths and methods that do not go together end here.
      routes,
      // What the API offers, for everybody who may know.
      documentsHandler({ discovery, openApi, heavy }),
      // How others check our tokens.
      openIdHandler({
        issuer: issuer.issuer,
        keys: [pki.serviceAccountKey],
        serverAddress: () => formatAddress(listener.address),
      }),
      // The built-in resources.
      core.handle,
    ],
    notFoundHandler,
  )
  const uid = { flowSchemaUid: randomUUID(), priorityLevelUid: randomUUID() }
  const handler = chain(
    [
      // Outermost, so that every answer can be found in the logs.
      withAuditId,
      // These see what was really answered, by whichever filter.
      withRequestMetrics(metrics.requests, clock),
      withAuditLog(audit, clock),
      withRequestLog(logger, clock),
      // Everything below may throw; nothing gets past this.
      withErrorResponses(logger),
      // The reading on which all others decide.
      withRequestInfo,
      withCacheControl,
      // Before anything that may wait.
      withDeadline(clock),
      withAuthentication({
        authenticators: authenticators(options, new BearerAuthenticator(tokens, issuer.apiAudiences)),
        allowAnonymous: allowsAnonymous(modes),
        attempted: (result, userName) => metrics.access.authenticated(result, userName),
      }),
      // What follows may be somebody else's request.
      withImpersonation(authorizer, clock),
      // After authentication: an overloaded server still lets its administrator in.
      withInFlightLimits({ ...uid, metrics: metrics.requests }),
      withAuthorization({ authorizer, decided: (verdict) => metrics.access.authorized(verdict) }),
    ],
    delegates,
  )
  const { bootstrap, controllers } = composeControllers({
    writer,
    cache,
    clock,
    logger: options.logger,
    authorizer,
    ca: pki.ca,
    trust: trustOf(options),
    served,
    serviceRange,
    securePort: () => listener.address.port,
    sharesStore: options.sharesStore,
    ...(options.skippedControllers === undefined ? {} : { skip: options.skippedControllers }),
  })
  const parts = [
    // First, and therefore last to stop: it takes in the events of everything below.
    ...(options.auditLog === undefined ? [] : [options.auditLog]),
    cachePart(cache, view, graph, clock),
    new HistoryKeeper(store, clock, logger),
    heavy,
    // Before anybody is served: clients count on the default objects from the first request on.
    bootstrap,
    listener,
    // After the listener, whose port the `kubernetes` Service names.
    controllers,
  ]
  return { parts, listener }
}

function perAddress({ maxConnectionsPerAddress: max = DEFAULT_CONNECTIONS_PER_ADDRESS }: ApiServerOptions) {
  return max === 0 ? {} : { maxConnectionsPerAddress: max }
}

function authenticators({ clock, pki, clientCas = [] }: ApiServerOptions, bearer: Authenticator): Authenticator[] {
  const trust = [pki.ca.certificate, ...certificatesOf(clientCas)]
  return [
    new RequestHeaderAuthenticator({
      clock,
      trust: () => [pki.frontProxyCa.certificate],
      allowedNames: ['front-proxy-client'],
    }),
    new CertificateAuthenticator(clock, () => trust),
    bearer,
  ]
}

function certificatesOf(bundles: readonly CaBundle[]): Certificate[] {
  return bundles.flatMap(({ pem, source }) => readCertificates(pem, source))
}

/** Every kind of bearer token; the cheapest to look up first. */
function tokenAuthenticator(
  { clock, pki, tokens }: ApiServerOptions,
  { issuer, apiAudiences }: TokenIssuer,
  find: FindObject,
): TokenAuthenticator {
  const keys = [pki.serviceAccountKey]
  const file = tokens === undefined ? undefined : new StaticTokens(tokens.csv, tokens.source)
  return new UnionTokenAuthenticator([
    ...(file === undefined ? [] : [new ApiTokenAuthenticator((token) => file.userOf(token), apiAudiences)]),
    legacyServiceAccountTokens({ keys, apiAudiences, find }),
    serviceAccountTokens({ keys, issuer, apiAudiences, find, clock }),
  ])
}

/** What the listener shows to clients. The CAs it names are how clients choose which certificate to present. */
export function tlsFiles({ serving, ca, frontProxyCa }: Pki, further: readonly CaBundle[] = []): TlsFiles {
  const own = [ca.certificate, frontProxyCa.certificate]
  const clientCas = [...own, ...certificatesOf(further)].map((certificate) => certificatePem(certificate))
  return { cert: serving.certificatePem, key: serving.keyPem, clientCas }
}

function contextOf(exchange: Exchange, clock: Clock): RequestContext {
  return {
    exchange,
    receivedMs: clock.nowMs(),
    responseHeaders: {},
    warnings: new Set(),
    auditId: '',
    ...UNREAD_REQUEST,
    user: anonymousUser,
    turn: () => turnFor(clock),
    signal: exchange.closed,
  }
}

/** Loads the objects before anybody may ask for one, and follows the store from then on. */
function cachePart(cache: ObjectCache, view: RbacView, graph: NodeGraph, clock: Clock): Part {
  return {
    name: 'objects',
    async start(_signal, fail) {
      await cache.load()
      followPolicy(cache, view, graph)
      const stopped = new AbortController()
      const running = cache.run(stopped.signal, (signal) => clock.sleep(storeRetryMs, signal)).catch(fail)
      return {
        async stop() {
          stopped.abort()
          await running
        },
      }
    },
  }
}

/** What extension API servers read to know whom to believe. */
function trustOf({ pki, clientCas = [] }: ApiServerOptions): Trust {
  return {
    clientCaPem: [certificatePem(pki.ca.certificate), ...clientCas.map(({ pem }) => pem)].join(''),
    requestHeader: {
      caPem: certificatePem(pki.frontProxyCa.certificate),
      allowedNames: ['front-proxy-client'],
      usernameHeaders: ['X-Remote-User'],
      groupHeaders: ['X-Remote-Group'],
      extraHeaderPrefixes: ['X-Remote-Extra-'],
    },
  }
}

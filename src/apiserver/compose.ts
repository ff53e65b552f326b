/**
 * The API server, put together. Read it from the bottom: delegates own the paths, filters stand around them in the order
 * in which a request meets them, and the listener hands requests in.
 */
import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import { readCertificates } from '../identity/certificate.ts'
import type { Clock } from '../telemetry/clock.ts'
import type { HealthChecks } from '../telemetry/health.ts'
import type { Part } from '../telemetry/lifecycle.ts'
import type { ListenAddress } from '../telemetry/listen.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import type { Authenticator } from './auth/authenticator.ts'
import { CertificateAuthenticator } from './auth/authn/client-certificate.ts'
import { RequestHeaderAuthenticator } from './auth/authn/request-header.ts'
import { StaticTokenAuthenticator } from './auth/authn/static-tokens.ts'
import { NodeGraph } from './auth/node/graph.ts'
import { RbacView } from './auth/rbac/view.ts'
import { standardAuthorizer } from './auth/standard-authorizer.ts'
import { anonymousUser } from './auth/user.ts'
import { withAuditId } from './chain/audit-id.ts'
import { withAuditLog } from './chain/audit-log.ts'
import { withAuthentication } from './chain/authentication.ts'
import { withAuthorization } from './chain/authorization.ts'
import { withCacheControl } from './chain/cache-control.ts'
import { withDeadline } from './chain/deadline.ts'
import { withErrorResponses } from './chain/errors.ts'
import { chain, type Handler, type RequestContext } from './chain/handler.ts'
import { withImpersonation } from './chain/impersonation.ts'
import { withInFlightLimits } from './chain/in-flight.ts'
import { withRequestInfo } from './chain/request-info.ts'
import { Admission } from './core/admission.ts'
import { CoreHandler } from './core/core-handler.ts'
import { documentsHandler } from './core/documents-handler.ts'
import { healthHandler } from './core/health-handler.ts'
import { ObjectCache } from './core/object-cache.ts'
import { feedPolicy } from './core/policy-feed.ts'
import { Reader } from './core/read.ts'
import { Reviews } from './core/reviews.ts'
import { Writer } from './core/write/writer.ts'
import { delegation } from './delegation/delegate.ts'
import { notFoundHandler } from './delegation/not-found.ts'
import { builtInGroupVersions } from './discovery/built-in.ts'
import { DiscoveryDocuments } from './discovery/documents.ts'
import { DiscoveryRegistry } from './discovery/source.ts'
import { strategyOf } from './kinds/registry.ts'
import { OpenApiDocuments } from './openapi/documents.ts'
import { builtInParts, OpenApiRegistry } from './openapi/source.ts'
import type { Pki } from './pki/pki.ts'
import type { Exchange } from './serving/exchange.ts'
import { Listener } from './serving/listener.ts'
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
  /** Further CAs whose client certificates are believed, in PEM. */
  readonly clientCas?: readonly { readonly pem: string; readonly source: string }[]
}

export interface ApiServer {
  /** In the order in which they start. */
  readonly parts: readonly Part[]
  readonly listener: Listener
}

export function composeApiServer(options: ApiServerOptions): ApiServer {
  const { store, clock, pki, health, registry } = options
  const logger = componentLogger(options.logger, 'apiserver')
  const cache = new ObjectCache(store, logger)
  const view = new RbacView()
  const graph = new NodeGraph()
  const authorizer = standardAuthorizer({ graph, source: view, alwaysAllowPaths: ['/healthz', '/livez', '/readyz'] })
  const writer = new Writer({
    store,
    cache,
    clock,
    admission: new Admission([]),
    strategyOf: ({ apiVersion, kind }) => strategyOf(apiVersion, kind),
  })
  const reader = new Reader(store, cache, (ms, signal) => clock.sleep(ms, signal))
  const reviews = new Reviews({ authorizer, reviewToken: (review) => Promise.resolve(review) })
  const core = new CoreHandler({
    store,
    cache,
    reader,
    writer,
    clock,
    special: (context, info) => reviews.handle(context, info),
  })
  const served = builtInGroupVersions()
  const listener = new Listener({
    address: options.address,
    tls: {
      cert: pki.serving.certificatePem,
      key: pki.serving.keyPem,
      clientCas: [pki.ca, pki.frontProxyCa].map(({ certificate }) => certificate.x509.toString()),
    },
    serve: (exchange) => void handler(contextOf(exchange, clock)),
  })
  const discovery = new DiscoveryDocuments({ source: new DiscoveryRegistry(served), serverAddress: '127.0.0.1:6443' })
  const openApi = new OpenApiDocuments(new OpenApiRegistry(builtInParts(served)), clock)

  const delegates: Handler = delegation(
    [
      // Probes first: they must answer whatever else is wrong.
      healthHandler(health, registry),
      // What the API offers, for everybody who may know.
      documentsHandler({ discovery, openApi }),
      // The built-in resources.
      core.handle,
    ],
    notFoundHandler,
  )
  const uid = { flowSchemaUid: randomUUID(), priorityLevelUid: randomUUID() }
  const handler = chain(
    [
      // Outermost, so that every answer can be found in the log.
      withAuditId,
      // Everything below may throw; nothing gets past this.
      withErrorResponses(logger),
      // The reading on which all others decide.
      withRequestInfo,
      withCacheControl,
      // Before anything that may wait.
      withDeadline(clock),
      withAuthentication({ authenticators: authenticators(options), allowAnonymous: true }),
      // Knows who really asked; what follows may be somebody else's request.
      withAuditLog(logger, clock),
      withImpersonation(authorizer),
      // After authentication: an overloaded server still lets its administrator in.
      withInFlightLimits(uid),
      withAuthorization(authorizer),
    ],
    delegates,
  )
  return { parts: [cachePart(cache, view, graph, clock), listener], listener }
}

function authenticators({ clock, pki, tokens, clientCas = [] }: ApiServerOptions): Authenticator[] {
  const trust = [pki.ca.certificate, ...clientCas.flatMap(({ pem, source }) => readCertificates(pem, source))]
  return [
    new RequestHeaderAuthenticator({
      clock,
      trust: () => [pki.frontProxyCa.certificate],
      allowedNames: ['front-proxy-client'],
    }),
    new CertificateAuthenticator(clock, () => trust),
    ...(tokens === undefined ? [] : [new StaticTokenAuthenticator(tokens.csv, tokens.source)]),
  ]
}

function contextOf(exchange: Exchange, clock: Clock): RequestContext {
  return {
    exchange,
    receivedMs: clock.nowMs(),
    responseHeaders: {},
    warnings: new Set(),
    auditId: '',
    info: { kind: 'non-resource', path: '', verb: '' },
    query: new URLSearchParams(),
    user: anonymousUser,
    signal: exchange.closed,
  }
}

/** Loads the objects before anybody may ask for one, and follows the store from then on. */
function cachePart(cache: ObjectCache, view: RbacView, graph: NodeGraph, clock: Clock): Part {
  return {
    name: 'objects',
    async start(_signal, fail) {
      await cache.load()
      feedPolicy(cache, view, graph)
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

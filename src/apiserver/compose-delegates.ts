/** Who owns which path. Delegates are asked in order; the first that knows a path answers, and nobody's path is not found. */
import type { Registry } from 'prom-client'
import type { Clock } from '../runtime/clock.ts'
import { systemRandom } from '../runtime/random.ts'
import type { HealthChecks } from '../telemetry/health.ts'
import { reviewToken } from './auth/tokens/token-review.ts'
import type { Auth } from './compose-auth.ts'
import type { KeptObjects } from './compose-store.ts'
import { CoreHandler } from './core/core-handler.ts'
import { Reader } from './core/read.ts'
import { Renderer } from './core/renderer.ts'
import { Reviews } from './core/reviews.ts'
import { Subresources } from './core/subresources/subresources.ts'
import { TokenSubresource } from './core/subresources/token.ts'
import type { Writer } from './core/write/writer.ts'
import { type Delegate, delegation } from './delegation/delegate.ts'
import { documentsHandler } from './delegation/documents-handler.ts'
import { healthHandler } from './delegation/health-handler.ts'
import { notFoundHandler } from './delegation/not-found.ts'
import { openIdHandler } from './delegation/openid-handler.ts'
import { routes } from './delegation/routes.ts'
import type { builtInGroupVersions } from './discovery/built-in.ts'
import { DiscoveryDocuments } from './discovery/documents.ts'
import { fixedDiscovery } from './discovery/source.ts'
import type { HeavyWork } from './heavy/heavy-work.ts'
import { OpenApiDocuments } from './openapi/documents.ts'
import { builtInParts, fixedOpenApi } from './openapi/source.ts'
import type { Pki } from './pki/pki.ts'
import type { Handler } from './request/handler.ts'

export interface DelegatesOptions {
  readonly kept: KeptObjects
  readonly auth: Auth
  readonly writer: Writer
  readonly heavy: HeavyWork
  readonly clock: Clock
  readonly health: HealthChecks
  readonly registry: Registry
  readonly pki: Pki
  readonly served: ReturnType<typeof builtInGroupVersions>
  /** Host and port of the listener; asked for each answer, because it is known only once that listens. */
  readonly serverAddress: () => string
}

export function composeDelegates(options: DelegatesOptions): Handler {
  const { auth, pki, health, registry, serverAddress } = options
  return delegation(
    [
      // Probes first: they must answer whatever else is wrong.
      healthHandler(health, registry),
      // Paths and methods that do not go together end here.
      routes,
      // What the API offers, for everybody who may know.
      documents(options),
      // How others check our tokens.
      openIdHandler({ issuer: auth.issuer.issuer, keys: [pki.serviceAccountKey], serverAddress }),
      // The built-in resources.
      builtInResources(options),
    ],
    notFoundHandler,
  )
}

function documents({ served, clock, heavy }: DelegatesOptions): Delegate {
  const source = fixedDiscovery(served)
  const discovery = new DiscoveryDocuments({ source, serverAddress: '127.0.0.1:6443' })
  const openApi = new OpenApiDocuments(fixedOpenApi(builtInParts(served)), clock)
  return documentsHandler({ discovery, openApi, heavy })
}

function builtInResources({ kept, auth, writer, heavy, clock }: DelegatesOptions): Delegate {
  const { store, cache } = kept
  const { authorizer, issuer, tokens, find } = auth
  const { admission } = writer.parts
  const reader = new Reader(store, cache, clock)
  const renderer = new Renderer(heavy)
  const reviews = new Reviews({
    authorizer,
    renderer,
    reviewToken: (review) => reviewToken(review, tokens, issuer.apiAudiences),
  })
  const tokenSubresource = new TokenSubresource({ issuer, find, clock, admission })
  const subresources = new Subresources({ reader, writer, clock, authorizer, nodes: undefined })
  const core = new CoreHandler({
    store,
    cache,
    reader,
    writer,
    clock,
    random: systemRandom.fraction,
    renderer,
    authorizer,
    special: async (context, info) =>
      (await reviews.handle(context, info)) ||
      (await tokenSubresource.handle(context, info)) ||
      (await subresources.handle(context, info)),
  })
  return core.handle
}

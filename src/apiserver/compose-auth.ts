/** Who asks, and what they may do: proofs of identity, tokens, and the policy that is kept in memory. */
import type { Clock } from '../runtime/clock.ts'
import type { CaBundle, TokenFile } from './api-server-options.ts'
import type { Authenticator } from './auth/authenticator.ts'
import { CertificateAuthenticator } from './auth/authn/client-certificate.ts'
import { RequestHeaderAuthenticator } from './auth/authn/request-header.ts'
import { StaticTokens } from './auth/authn/static-tokens.ts'
import { type AuthorizationMode, DEFAULT_AUTHORIZATION_MODES } from './auth/mode-names.ts'
import { allowsAnonymous, standardAuthorizer } from './auth/modes.ts'
import { NodeGraph } from './auth/node/graph.ts'
import { EscalationCheck } from './auth/rbac/escalation.ts'
import { RbacView } from './auth/rbac/view.ts'
import { serviceAccountTokens } from './auth/tokens/authenticator.ts'
import type { FindObject } from './auth/tokens/find-object.ts'
import { TokenIssuer } from './auth/tokens/issuer.ts'
import { legacyServiceAccountTokens } from './auth/tokens/legacy-authenticator.ts'
import type { TokenAuthenticator } from './auth/tokens/token-authenticator.ts'
import { ApiTokenAuthenticator, BearerAuthenticator, UnionTokenAuthenticator } from './auth/tokens/union-tokens.ts'
import type { KeptObjects } from './compose-store.ts'
import { followPolicy } from './core/policy-view.ts'
import { objectLookup } from './core/token-objects.ts'
import type { Pki } from './pki/pki.ts'
import type { Authorizer } from './request/authorizer.ts'
import { clientTrust, FRONT_PROXY_NAME } from './trust.ts'

/** Open to everybody, whatever the policy says: whoever probes a server may have no identity yet. */
const alwaysAllowPaths = ['/healthz', '/livez', '/readyz']

export interface AuthOptions {
  readonly kept: KeptObjects
  readonly clock: Clock
  readonly pki: Pki
  readonly clientCas: readonly CaBundle[]
  readonly tokens: TokenFile | undefined
  readonly modes: readonly AuthorizationMode[] | undefined
}

export interface Auth {
  /** Tried in this order. */
  readonly authenticators: readonly Authenticator[]
  readonly allowsAnonymous: boolean
  readonly authorizer: Authorizer
  readonly escalation: EscalationCheck
  readonly tokens: TokenAuthenticator
  readonly issuer: TokenIssuer
  readonly find: FindObject
  /** Takes in the policy once the objects are loaded, and follows it from then on. Until then nobody is let in by it. */
  followPolicy(): void
}

export function composeAuth(options: AuthOptions): Auth {
  const { kept, pki, modes = DEFAULT_AUTHORIZATION_MODES } = options
  const view = new RbacView()
  const graph = new NodeGraph()
  const authorizer = standardAuthorizer({ graph, source: view, modes, alwaysAllowPaths })
  const find = objectLookup(kept.cache, kept.store)
  const issuer = new TokenIssuer({ key: pki.serviceAccountKey })
  const tokens = tokenAuthenticator(options, issuer, find)
  return {
    authenticators: authenticators(options, new BearerAuthenticator(tokens, issuer.apiAudiences)),
    allowsAnonymous: allowsAnonymous(modes),
    authorizer,
    escalation: new EscalationCheck(view, authorizer),
    tokens,
    issuer,
    find,
    followPolicy: () => followPolicy(kept.cache, view, graph),
  }
}

function authenticators({ clock, pki, clientCas }: AuthOptions, bearer: Authenticator): Authenticator[] {
  const trust = clientTrust(pki, clientCas)
  return [
    new RequestHeaderAuthenticator({
      clock,
      trust: () => [pki.frontProxyCa.certificate],
      allowedNames: [FRONT_PROXY_NAME],
    }),
    new CertificateAuthenticator(clock, () => trust),
    bearer,
  ]
}

/** Every kind of bearer token; the cheapest to look up first. */
function tokenAuthenticator(
  { clock, pki, tokens }: AuthOptions,
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

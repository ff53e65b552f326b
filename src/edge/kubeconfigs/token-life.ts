/** How long a token lives and whose it is, by what it says itself. Pure; nobody here decides whether it is any good. */
import { decodeJwt } from 'jose/jwt/decode'

/** Below this a token is renewed without end for nothing; no API server makes any that live for less than ten minutes. */
export const MIN_TOKEN_REFRESH_MS = 60_000

export interface TokenLife {
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

/** `undefined` for what is no JWT with a begin and an end. */
export function readTokenLife(token: string): TokenLife | undefined {
  try {
    const { iat, exp } = decodeJwt(token)
    if (iat === undefined || exp === undefined || !(exp > iat)) return undefined
    return { issuedAtMs: iat * 1000, expiresAtMs: exp * 1000 }
  } catch {
    return undefined
  }
}

/** A ServiceAccount called kube-proxy; namespaces have names of DNS labels. */
const kubeProxyAccount = /^system:serviceaccount:([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?):kube-proxy$/

/** The namespace of the ServiceAccount `kube-proxy` whose token this is; `undefined` for any other. */
export function readKubeProxyNamespace(token: string): string | undefined {
  try {
    return kubeProxyAccount.exec(decodeJwt(token).sub ?? '')?.[1]
  } catch {
    return undefined
  }
}

/** For one that was found: when half its life is over. */
export function halfLifeMs({ issuedAtMs, expiresAtMs }: TokenLife): number {
  return issuedAtMs + Math.floor((expiresAtMs - issuedAtMs) / 2)
}

/** For one that was just received: counted from now, so that a clock that is wrong does not make us ask in a circle. */
export function refreshAfterReceiptMs({ issuedAtMs, expiresAtMs }: TokenLife, nowMs: number): number {
  return nowMs + Math.max(MIN_TOKEN_REFRESH_MS, Math.floor((expiresAtMs - issuedAtMs) / 2))
}

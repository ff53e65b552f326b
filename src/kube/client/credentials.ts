/**
 * The identity headers of a request. Tokens in files are rotated by others while we run: they are read again once a
 * minute, and at once after the server answered 401.
 */
import type { Clock } from '../../runtime/clock.ts'
import { type ConnectionConfig, ConnectionConfigError, readMaterial } from './connection.ts'

/** As often as client-go looks: tokens on disk are renewed long before they expire. */
export const TOKEN_REREAD_MS = 60_000

/** Control characters cannot be sent, and white space at the ends the server cuts off: that would be another name. */
const changedByHeaders = /[\p{Cc}\p{Cs}]|^\s|\s$/u

export type HeaderList = Array<[name: string, value: string]>

export class RequestCredentials {
  readonly #connection: ConnectionConfig
  readonly #clock: Clock
  readonly #impersonation: HeaderList
  #token: { readonly value: string; readonly readAtMs: number } | undefined

  constructor(connection: ConnectionConfig, clock: Clock) {
    this.#connection = connection
    this.#clock = clock
    this.#impersonation = impersonationHeaders(connection)
  }

  async headers(): Promise<HeaderList> {
    const authorization = await this.#authorization()
    const own: HeaderList = authorization === undefined ? [] : [['authorization', authorization]]
    return [...own, ...this.#impersonation]
  }

  /** Call after a 401: the next request reads the token file again, however young the last reading is. */
  refused(): void {
    if (this.#token !== undefined) this.#token = { value: this.#token.value, readAtMs: Number.NEGATIVE_INFINITY }
  }

  async #authorization(): Promise<string | undefined> {
    const { credentials } = this.#connection
    if (credentials.type === 'anonymous') return undefined
    if (credentials.type === 'token') return `Bearer ${await this.#currentToken()}`
    const pair = `${credentials.username}:${credentials.password}`
    return `Basic ${Buffer.from(pair).toString('base64')}`
  }

  async #currentToken(): Promise<string> {
    const nowMs = this.#clock.monotonicMs()
    const known = this.#token
    if (known !== undefined && nowMs - known.readAtMs < TOKEN_REREAD_MS) return known.value
    try {
      const value = await this.#readToken()
      this.#token = { value, readAtMs: nowMs }
      return value
    } catch (error) {
      // A token that was good a minute ago is better than none while somebody swaps the file.
      if (known === undefined) throw error
      return known.value
    }
  }

  async #readToken(): Promise<string> {
    const { credentials, source } = this.#connection
    if (credentials.type !== 'token') throw new ConnectionConfigError(`${source} has no token`)
    const token = (await readMaterial(credentials.token, 'the bearer token')).toString('utf8').trim()
    // Never show the token itself: this text ends in logs.
    if (token === '' || /[^\x21-\x7e]/.test(token)) {
      const place = 'file' in credentials.token ? credentials.token.file : source
      throw new ConnectionConfigError(`the bearer token in ${place} is ${token === '' ? 'empty' : 'not a valid token'}`)
    }
    return token
  }
}

function impersonationHeaders({ impersonation, source }: ConnectionConfig): HeaderList {
  if (impersonation === undefined) return []
  const checked = (what: string, value: string): string => {
    if (!changedByHeaders.test(value)) return value
    const problem = 'has control characters, or white space at its ends'
    throw new ConnectionConfigError(`${source}: the ${what} to impersonate ${problem}: ${JSON.stringify(value)}`)
  }
  const headers: HeaderList = [['impersonate-user', checked('user', impersonation.user)]]
  if (impersonation.uid !== undefined) headers.push(['impersonate-uid', checked('uid', impersonation.uid)])
  for (const group of impersonation.groups) headers.push(['impersonate-group', checked('group', group)])
  for (const [key, values] of Object.entries(impersonation.extra)) {
    const name = `impersonate-extra-${escapeExtraKey(checked('extra key', key))}`
    for (const value of values) headers.push([name, checked('extra value', value)])
  }
  return headers.map(([name, value]) => [name, asHeaderBytes(value)])
}

/** HTTP libraries write one byte for each character; a server reads UTF-8. */
function asHeaderBytes(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1')
}

/** Extra keys may hold characters that header names may not; the server undoes percent encoding. */
function escapeExtraKey(key: string): string {
  return encodeURIComponent(key.toLowerCase()).replace(/[()]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
}

/** A hub's no: one of the codes of the protocol, a sentence for people, and whatever else the answer shall carry. */
import { HUB_REFUSALS, type HubRefusalCode } from '../protocol/refusals.ts'

export interface RefusalOptions extends ErrorOptions {
  readonly retryAfterSeconds?: number
  /** Further members of the JSON answer. */
  readonly details?: Readonly<Record<string, unknown>>
}

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: HubRefusalCode
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: HubRefusalCode, message: string, options: RefusalOptions = {}) {
    super(message, options)
    this.code = code
    this.status = HUB_REFUSALS[code]
    this.retryAfterSeconds = options.retryAfterSeconds
    this.details = options.details ?? {}
  }
}

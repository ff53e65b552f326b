/**
 * Tokens that the API server has rejected though they are signed by it and have not ended, by their hashes: of an account or a
 * pod that is no more. Offline their signature would make them good again.
 */
import { KeptNames, type KeptNamesOptions } from './kept-names.ts'

/** More than a node's pods have while they end; beyond, the one rejected longest ago is forgotten. */
const MAX_REJECTED_TOKENS = 4_096
/** Of a SHA-256 in base64url. */
const HASH_CHARS = 43

export class RejectedTokens extends KeptNames {
  constructor(options: KeptNamesOptions) {
    super('rejected-tokens', { maxNames: MAX_REJECTED_TOKENS, maxNameChars: HASH_CHARS }, options)
  }
}

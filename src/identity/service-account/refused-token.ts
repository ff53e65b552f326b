/** Why a token is no good, once its signature was found to be. */

/** The message is the reason. */
export class RefusedTokenError extends Error {
  override readonly name = 'RefusedTokenError'
}

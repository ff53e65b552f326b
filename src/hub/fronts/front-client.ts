/** Who is at the other end of a front, and what a front does with a connection. */
import type { Socket } from 'node:net'

export interface FrontClient {
  /** For logs, and for the edge's: who asks. */
  readonly source: string
  /** Why this client may not use the front; it is told so and served nothing. */
  readonly refusal?: string
  /** What is written in two writes is never read in one, as with TLS, where each write is a record of its own. */
  readonly keepsWritesApart?: boolean
}

export interface FrontConnection {
  /** Takes no more work and ends as soon as what is under way is done. */
  drain(): void
}

/** Takes a connection over. */
export type FrontHandler = (socket: Socket, client: FrontClient) => FrontConnection

/** What the hub knows of a connection once its TLS handshake is done, and which cluster it is about. */
import type { TLSSocket } from 'node:tls'
import type { Cluster } from '../cluster/cluster.ts'
import type { Refusal } from '../refusal.ts'

/** The hub's own certificate, in PEM. */
export interface ServerIdentity {
  /** The certificate, then those between it and the CA. */
  readonly certificatePem: string
  readonly privateKeyPem: string
}

/** One cluster as strangers meet it. */
export interface ClusterDoor {
  readonly cluster: Cluster
  /** Asked for each new connection: another object means another certificate from then on. Open connections keep theirs. */
  serverIdentity(): ServerIdentity
}

/** Which cluster a client came for, by the name it asked for in its handshake; `undefined` if it named none. */
export type ChooseDoor = (serverName: string | undefined) => ClusterDoor | Refusal

export interface Peer {
  readonly address: string
  /** Whose limits the peer counts against: see `sourceOf`. */
  readonly source: string
  /**
   * DER of what the peer presented, its own first. Taken once, at the handshake: neither a connection that is gone nor one
   * that negotiates again may look like one without a certificate, or with another.
   */
  readonly certificates: readonly Buffer[]
  /** Called by who has found out its name: it does not count as one of its address's strangers from then on. */
  identified(): void
}

export interface HubConnection {
  readonly socket: TLSSocket
  readonly door: ClusterDoor
  readonly peer: Peer
}

export interface OpenConnection {
  /** Takes no more work and ends the connection as soon as what is under way is done. */
  drain(): void
}

/** Takes a connection over. */
export type ConnectionHandler = (connection: HubConnection) => OpenConnection

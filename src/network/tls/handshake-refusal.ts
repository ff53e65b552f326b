/** Why a handshake is not gone on with. The peer only sees its connection end. */
export class HandshakeRefusal extends Error {
  override readonly name = 'HandshakeRefusal'
}

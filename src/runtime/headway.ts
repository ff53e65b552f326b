/**
 * Whether what should move bytes still moves them: the one measure of what is stalled. Who asks decides for how long a peer may
 * stand still, and what ends then: an answer nobody reads, a connection that holds up a link, a body that stopped halfway.
 */
export class Headway {
  readonly #minBytes: number
  #bytes: number
  #atMs: number

  /** `bytes` are all that have moved so far. To have moved fewer than `minBytes` more is to stand still. */
  constructor(bytes: number, nowMs: number, minBytes = 1) {
    this.#minBytes = minBytes
    this.#bytes = bytes
    this.#atMs = nowMs
  }

  /** From now on there is something to move; what was before does not count. */
  restart(bytes: number, nowMs: number): void {
    this.#bytes = bytes
    this.#atMs = nowMs
  }

  /** For how long it has stood still, as far as was seen: it is known as exactly as it is asked for. */
  stoodMs(bytes: number, nowMs: number): number {
    if (bytes - this.#bytes >= this.#minBytes) this.restart(bytes, nowMs)
    return nowMs - this.#atMs
  }
}

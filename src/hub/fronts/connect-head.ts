/**
 * The head of a CONNECT request, read from bytes as they come. One request of one kind on a connection is all that a front
 * serves, so this takes exactly that and refuses everything else; what follows the head is the client's own.
 */
import { type Destination, parseAuthority } from '../routing/destination.ts'

/** A request line and a few headers; API servers send 60 bytes. */
export const MAX_CONNECT_HEAD_BYTES = 8 * 1024

const endOfHead = Buffer.from('\r\n\r\n')
const lineFeed = 0x0a
const carriageReturn = 0x0d

export interface ConnectRequest {
  readonly destination: Destination
  /** What came behind the head: the first bytes for the destination. */
  readonly rest: Buffer
}

/** A request that is not served, with the HTTP status that says so. */
export interface BadRequest {
  readonly status: 400 | 405 | 431 | 505
  readonly problem: string
}

export class ConnectHeadReader {
  #head: Buffer = Buffer.alloc(0)

  /** `undefined` asks for more. Not to be called again after anything else. */
  push(chunk: Buffer): ConnectRequest | BadRequest | undefined {
    // The end may have begun in the chunk before.
    const searchFrom = Math.max(0, this.#head.length - endOfHead.length + 1)
    this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk])
    const end = this.#head.indexOf(endOfHead, searchFrom)
    if ((end === -1 ? this.#head.length : end) > MAX_CONNECT_HEAD_BYTES)
      return { status: 431, problem: `the head of the request has more than ${MAX_CONNECT_HEAD_BYTES} bytes` }
    if (hasBareLineEnd(this.#head, searchFrom, end === -1 ? this.#head.length : end))
      return { status: 400, problem: 'the lines of the head must end in CR LF' }
    if (end === -1) return undefined
    const destination = parseHead(this.#head.toString('latin1', 0, end))
    return 'problem' in destination ? destination : { destination, rest: this.#head.subarray(end + endOfHead.length) }
  }
}

function parseHead(head: string): Destination | BadRequest {
  const [requestLine = '', ...headers] = head.split('\r\n')
  const [, method, target = '', version] = /^([A-Z]+) ([^ ]+) (HTTP\/\d\.\d)$/.exec(requestLine) ?? []
  if (method === undefined) return { status: 400, problem: 'this is not an HTTP request' }
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') return { status: 505, problem: `${version} is not spoken here` }
  if (method !== 'CONNECT') return { status: 405, problem: `only CONNECT is served here, not ${method}` }
  const wrong = headers.map(headerProblem).find((problem) => problem !== undefined)
  if (wrong !== undefined) return { status: 400, problem: wrong }
  // The destination is the request's target alone: API servers send a constant as Host.
  const destination = parseAuthority(target)
  return typeof destination === 'string' ? { status: 400, problem: destination } : destination
}

/** Told at once: who ends lines so would wait for an answer, and we for the end of the head. */
function hasBareLineEnd(head: Buffer, from: number, end: number): boolean {
  for (let at = head.indexOf(lineFeed, from); at !== -1 && at < end; at = head.indexOf(lineFeed, at + 1)) {
    if (head[at - 1] !== carriageReturn) return true
  }
  return false
}

/** Strict in what would let two readers see two requests: no folding, no space before the colon, no body. */
function headerProblem(line: string): string | undefined {
  const [, framing] = /^(content-length(?!:[\t ]*0[\t ]*$)|transfer-encoding):/i.exec(line) ?? []
  if (framing !== undefined) return `a CONNECT request has no body: leave out ${framing}`
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/.test(line)) return undefined
  return 'a header of the request cannot be read'
}

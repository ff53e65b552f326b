/** One connection of the driver through a tunnel. Bytes are read into a shared buffer, so that reading costs the driver little. */
import { connect, type Socket } from 'node:net'
import { WISHES, type Wish } from './origin.ts'

/** Where a tunnel is entered: a CONNECT front on a unix socket, or a port that leads to the origin by itself. */
export type Door =
  | { readonly kind: 'connect'; readonly path: string; readonly destination: string }
  | { readonly kind: 'port'; readonly port: number }

const openTimeoutMs = 20_000
const opensAtATime = 32
const accepted = 'HTTP/1.1 200'
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024)

export class Line {
  readonly socket: Socket
  /** What came before the end of the CONNECT answer, and what came in the same read behind it. */
  answer = ''
  rest = ''
  /** Valid during the call only. */
  onBytes: (bytes: Buffer) => void = () => {}
  readonly #opened: Promise<void>
  #isOpen = false
  #settle: (error?: Error) => void = () => {}

  constructor(door: Door) {
    const onread = {
      buffer: readBuffer,
      callback: (count: number): boolean => {
        this.#onRead(readBuffer.subarray(0, count))
        return true
      },
    }
    const to = door.kind === 'connect' ? { path: door.path } : { port: door.port, host: '127.0.0.1', noDelay: true }
    this.socket = connect({ ...to, allowHalfOpen: true, onread })
    this.#opened = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error))
    })
    this.#opened.catch(() => {})
    const timer = setTimeout(() => this.#fail('no answer'), openTimeoutMs)
    void this.#opened.catch(() => {}).then(() => clearTimeout(timer))
    this.socket.on('error', (error) => this.#fail(error.message))
    this.socket.on('end', () => this.#isOpen || this.#fail('ended without an answer'))
    this.socket.on('close', () => this.#fail('closed'))
    this.socket.on('connect', () => this.#onConnect(door))
  }

  /** Rejects where the tunnel refuses. */
  async opened(): Promise<this> {
    await this.#opened
    return this
  }

  ask(wish: Wish): void {
    this.socket.write(WISHES[wish])
  }

  /** Resolves with the next bytes, or with nothing at the end. */
  next(): Promise<string> {
    return new Promise((resolve) => {
      this.onBytes = (bytes) => resolve(bytes.toString('latin1'))
      this.socket.once('end', () => resolve(''))
      this.socket.once('close', () => resolve(''))
    })
  }

  #onConnect(door: Door): void {
    if (door.kind === 'connect') {
      this.socket.write(`CONNECT ${door.destination} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
      return
    }
    this.#isOpen = true
    this.#settle()
  }

  #onRead(bytes: Buffer): void {
    if (this.#isOpen) this.onBytes(bytes)
    else this.#onAnswer(bytes)
  }

  #onAnswer(bytes: Buffer): void {
    this.answer += bytes.toString('latin1')
    const end = this.answer.indexOf('\r\n\r\n')
    if (end < 0) return
    this.rest = this.answer.slice(end + 4)
    this.answer = this.answer.slice(0, end)
    this.#isOpen = true
    if (this.answer.includes(accepted)) this.#settle()
    else this.#fail(this.answer + this.rest)
  }

  #fail(why: string): void {
    this.#settle(new Error(why))
    if (!this.socket.destroyed) this.socket.destroy()
  }
}

/** Opens `count` of them, a few at a time, into `lines`. */
export async function openLines(door: Door, count: number, wish: Wish, lines: Line[] = []): Promise<Line[]> {
  let left = count
  const opener = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const line = new Line(door)
      lines.push(line)
      await line.opened()
      line.ask(wish)
      // An echo proves that the origin has been reached.
      if (wish === 'echo' && (await line.next()) === '') throw new Error('no echo')
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, opensAtATime) }, opener))
  return lines
}

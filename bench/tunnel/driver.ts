/** The load, in a process of its own: it opens lines, times them and counts bytes. */
import { type Door, Line, openLines } from './line.ts'
import { flood, GREETING } from './origin.ts'
import { serveCalls } from './rpc.ts'

/** A request of a few words, well inside one packet. */
const echoBytes = Buffer.alloc(64, 'e')
const halfCloseBytes = 200_000
const lateWord = 'late'

export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly count: number
}

export interface StallReport {
  readonly alone: Latency
  readonly beside: Latency
  readonly newOpened: boolean
}

export type DriverApi = {
  bulk: (options: { door: Door; streams: number; direction: 'up' | 'down' }) => Promise<void>
  received: () => number
  closeAll: () => void
  echo: (options: { door: Door; streams: number; ms: number }) => Promise<Latency>
  opens: (options: { door: Door; atATime: number; ms: number }) => Promise<Latency & { perSecond: number }>
  hold: (options: { door: Door; streams: number }) => Promise<number>
  stall: (options: { door: Door; streams: number; ms: number; side: 'client' | 'origin' }) => Promise<StallReport>
  halfClose: (door: Door) => Promise<boolean>
  originHalfClose: (door: Door) => Promise<void>
  greetings: (options: { door: Door; count: number }) => Promise<{ beforeAnswer: number; withAnswer: number }>
}

let receivedBytes = 0
const kept: Line[] = []

export function serveDriver(): void {
  serveCalls({
    bulk,
    received: () => receivedBytes,
    closeAll: () => {
      for (const line of kept.splice(0)) line.socket.destroy()
    },
    echo: async ({ door, streams, ms }) => {
      const lines = await openLines(door, streams, 'echo')
      const latency = await exchange(lines, ms)
      for (const line of lines) line.socket.destroy()
      return latency
    },
    opens,
    hold: async ({ door, streams }) => {
      // A refusal shows in what is held.
      await openLines(door, streams, 'echo', kept).catch((error: Error) => console.error(`  refused: ${error.message}`))
      return kept.filter(({ socket }) => !socket.destroyed).length
    },
    stall,
    halfClose,
    originHalfClose,
    greetings,
  } satisfies DriverApi)
}

async function bulk({ door, streams, direction }: Parameters<DriverApi['bulk']>[0]): Promise<void> {
  const lines = await openLines(door, streams, direction === 'up' ? 'sink' : 'source')
  for (const line of lines) {
    if (direction === 'up') flood(line.socket)
    else {
      line.onBytes = (bytes) => {
        receivedBytes += bytes.length
      }
    }
  }
  kept.push(...lines)
}

/** Every line sends its next word when the last one is back. Those that get no answer do not hold up the end. */
async function exchange(lines: readonly Line[], ms: number): Promise<Latency> {
  const samples: number[] = []
  const untilMs = performance.now() + ms
  const repeat = async (line: Line): Promise<void> => {
    while (performance.now() < untilMs && !line.socket.destroyed) {
      const startMs = performance.now()
      const answered = allOf(line, echoBytes.length)
      line.socket.write(echoBytes)
      await answered
      samples.push(performance.now() - startMs)
    }
  }
  await Promise.race([Promise.all(lines.map(repeat)), pause(ms + 1_000)])
  return latencyOf(samples)
}

function allOf(line: Line, count: number): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    line.onBytes = (chunk) => {
      bytes += chunk.length
      if (bytes >= count) resolve()
    }
  })
}

async function opens({
  door,
  atATime,
  ms,
}: Parameters<DriverApi['opens']>[0]): Promise<Latency & { perSecond: number }> {
  const samples: number[] = []
  const startMs = performance.now()
  const opener = async (): Promise<void> => {
    while (performance.now() < startMs + ms) {
      const openMs = performance.now()
      const line = await new Line(door).opened()
      line.ask('echo')
      await line.next()
      samples.push(performance.now() - openMs)
      line.socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: atATime }, opener))
  return { ...latencyOf(samples), perSecond: (samples.length * 1000) / (performance.now() - startMs) }
}

/** Healthy lines alone, then beside one where somebody has stopped reading while the other end goes on sending. */
async function stall({ door, streams, ms, side }: Parameters<DriverApi['stall']>[0]): Promise<StallReport> {
  const lines = await openLines(door, streams, 'echo')
  const alone = await exchange(lines, ms)
  const [stalled] = await openLines(door, 1, side === 'client' ? 'source' : 'deaf')
  if (side === 'client') stalled?.socket.pause()
  else if (stalled !== undefined) flood(stalled.socket)
  await pause(1_000)
  const beside = await exchange(lines, ms)
  const probe = openLines(door, 1, 'echo').then(
    ([line]) => line,
    () => undefined,
  )
  const opened = await Promise.race([probe, pause(3_000)])
  for (const line of [...lines, stalled, opened]) line?.socket.destroy()
  return { alone, beside, newOpened: opened !== undefined }
}

async function halfClose(door: Door): Promise<boolean> {
  const [line] = await openLines(door, 1, 'sum')
  if (line === undefined) return false
  const answer = line.next()
  line.socket.end(Buffer.alloc(halfCloseBytes - 1))
  const text = await Promise.race([answer, pause(3_000)])
  line.socket.destroy()
  return text === `${halfCloseBytes}\n`
}

/** The origin ends first; it says how much it heard afterwards. */
async function originHalfClose(door: Door): Promise<void> {
  const [line] = await openLines(door, 1, 'leave')
  if (line === undefined) return
  const ended = new Promise((resolve) => line.socket.once('end', resolve).once('close', resolve))
  await Promise.race([ended, pause(3_000)])
  line.socket.end(lateWord)
  await pause(500)
  line.socket.destroy()
}

/** Counts destinations heard before the answer to CONNECT, and in one read with it. */
async function greetings({ door, count }: Parameters<DriverApi['greetings']>[0]) {
  let beforeAnswer = 0
  let withAnswer = 0
  const one = async (): Promise<void> => {
    const line = new Line(door)
    await line.opened().catch(() => {})
    // A greeting that came alone leaves the line waiting for an answer that is then mangled or never seen.
    if (!line.answer.startsWith('HTTP/1.1 200')) beforeAnswer += 1
    else if (line.rest.startsWith(GREETING.slice(0, 1))) withAnswer += 1
    line.socket.destroy()
  }
  for (let done = 0; done < count; done += 10) await Promise.all(Array.from({ length: 10 }, one))
  return { beforeAnswer, withAnswer }
}

function latencyOf(samples: number[]): Latency {
  samples.sort((a, b) => a - b)
  const at = (part: number): number => samples[Math.floor(samples.length * part)] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99), count: samples.length }
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms))
}

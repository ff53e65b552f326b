import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { SIGNAL_ECHO_MS, stopOnSignals } from './signals.ts'

function listening() {
  const signals = new EventEmitter()
  const clock = new ManualClock()
  const exits: number[] = []
  const silent = { write: () => {} }
  const lines: string[] = []
  const context = { environment: {}, workingDir: '/', stdout: silent, stderr: silent, clock, signals }
  const logger = createLogger({
    level: 'info',
    format: 'json',
    destination: { write: (line) => lines.push(line) },
    clock,
  })
  const stop = stopOnSignals({ ...context, exit: (code) => exits.push(code) }, logger, 10_000)
  return { signals, clock, exits, stop, lines }
}

describe('stopOnSignals', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'])('asks for a clean stop at the first %s', (name) => {
    const { signals, exits, stop } = listening()
    signals.emit(name, name)
    expect(stop.signal.aborted).toBe(true)
    expect((stop.signal.reason as Error).message).toBe(`stopped by ${name}`)
    expect(exits).toEqual([])
  })

  it.each([
    ['SIGINT', 'SIGTERM', 143],
    ['SIGTERM', 'SIGINT', 130],
    ['SIGTERM', 'SIGHUP', 129],
    ['SIGHUP', 'SIGTERM', 143],
  ])('ends the process at once at %s, then %s', (first, second, code) => {
    const { signals, exits } = listening()
    signals.emit(first, first)
    signals.emit(second, second)
    expect(exits).toEqual([code])
  })

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ])('takes two %s at the same moment for one', async (name, code) => {
    const { signals, exits, clock } = listening()
    signals.emit(name, name)
    signals.emit(name, name)
    expect(exits).toEqual([])
    await clock.advance(SIGNAL_ECHO_MS)
    signals.emit(name, name)
    expect(exits).toEqual([code])
  })

  it('says until when it waits for what is under way', () => {
    const { signals, clock, lines } = listening()
    signals.emit('SIGTERM', 'SIGTERM')
    const until = new Date(clock.nowMs() + 10_000).toISOString()
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ signal: 'SIGTERM', until }])
  })

  it('stops listening when released', () => {
    const { signals, stop } = listening()
    stop.release()
    expect(signals.eventNames()).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { componentLogger, createLogger, type LoggerOptions } from './logger.ts'

function captured(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = []
  const logger = createLogger({
    level: 'info',
    format: 'json',
    destination: { write: (line) => lines.push(line) },
    clock: new ManualClock(Date.UTC(2026, 0, 1, 12, 30, 1, 250)),
    ...options,
  })
  return { logger, lines }
}

describe('JSON logs', () => {
  it('writes one object per line, with the level by name and the time of the given clock', () => {
    const { logger, lines } = captured()
    componentLogger(logger, 'health').info({ address: '127.0.0.1:1' }, 'listening')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/\n$/)
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'info',
      time: '2026-01-01T12:30:01.250Z',
      component: 'health',
      address: '127.0.0.1:1',
      msg: 'listening',
    })
  })

  it('drops what is below the level', () => {
    const { logger, lines } = captured({ level: 'warn' })
    logger.info('quiet')
    logger.warn('loud')
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['loud'])
  })

  it('lets no secret through in fields, bindings, messages or errors', () => {
    const { logger, lines } = captured()
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.aGVsbG8'
    logger.info({ headers: { Authorization: 'Basic aHVudGVyMg' } }, 'request')
    logger.child({ token: 'aHVudGVyMg' }).info('bound')
    logger.info(`refused ${jwt}`)
    logger.error(new Error(`bad token ${jwt}`))
    logger.error({ err: new Error('x', { cause: new Error(jwt) }) }, 'failed')
    const all = lines.join('')
    expect(all).not.toContain('aHVudGVyMg')
    expect(all).not.toContain(jwt)
    expect(lines).toHaveLength(5)
  })

  it('keeps the stack of an error', () => {
    const { logger, lines } = captured()
    logger.error({ err: new Error('broken') }, 'failed')
    const { err } = JSON.parse(lines[0] ?? '') as { err: { message: string; stack: string; type: string } }
    expect(err).toMatchObject({ type: 'Error', message: 'broken' })
    expect(err.stack).toContain('logger.test.ts')
  })
})

describe('human logs', () => {
  it('writes a compact line', () => {
    const { logger, lines } = captured({ format: 'human' })
    componentLogger(logger, 'health').warn({ address: '127.0.0.1:1', why: 'two words', n: 3 }, 'listening')
    expect(lines).toEqual(['12:30:01.250  WARN   health  listening  address=127.0.0.1:1  why="two words"  n=3\n'])
  })

  it('puts the stack of an error below', () => {
    const { logger, lines } = captured({ format: 'human' })
    logger.error({ err: new Error('broken') }, 'failed')
    expect(lines[0]).toMatch(/^12:30:01\.250 {2}ERROR {2}failed\n {4}Error: broken\n {8}at /)
  })

  it('scrubs as well, and colours only when asked', () => {
    const { logger, lines } = captured({ format: 'human', color: true })
    logger.info('Bearer abcdef0123456789abcdef')
    expect(lines[0]).toContain('[redacted]')
    expect(lines[0]).toContain('\u001b[32m')
  })

  it('does not let a peer steer the terminal or forge a line', () => {
    const { logger, lines } = captured({ format: 'human' })
    logger.info({ node: 'a\u001b[2Jb\nc' }, 'hello\r\n12:00:00.000  INFO  forged')
    expect(lines[0]).toBe('12:30:01.250  INFO   hello\\x0d\\x0a12:00:00.000  INFO  forged  node="a\\u001b[2Jb\\nc"\n')
  })
})

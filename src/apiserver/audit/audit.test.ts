import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { Audit } from './audit.ts'
import type { AuditEvent } from './event.ts'
import { FileSink } from './file-sink.ts'
import { MAX_AUDIT_QUEUE_BYTES } from './sink.ts'
import { StreamSink } from './stream-sink.ts'

const logged: string[] = []
const logger = createLogger({
  level: 'info',
  format: 'json',
  destination: { write: (line) => logged.push(line) },
  clock: new ManualClock(),
})
const folders: string[] = []

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'causeway-audit-'))
  folders.push(made)
  return made
}

afterEach(() => {
  for (const each of folders.splice(0)) rmSync(each, { recursive: true })
})

/** Starts, writes and stops: everything is on disk then. */
async function written(sink: FileSink, lines: readonly string[]): Promise<void> {
  const running = await sink.start()
  for (const line of lines) sink.append(line)
  await running.stop(new AbortController().signal)
}

describe('FileSink', () => {
  it('appends whole lines to a file of its owner, also after a restart', async () => {
    const path = join(folder(), 'deep', 'audit.log')
    await written(new FileSink({ path, logger }), ['a', 'b'])
    await written(new FileSink({ path, logger }), ['c'])
    expect(readFileSync(path, 'utf8')).toBe('a\nb\nc\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('puts full files aside and deletes the oldest', async () => {
    const path = join(folder(), 'audit.log')
    const sink = new FileSink({ path, logger, maxFileBytes: 8, maxOldFiles: 2 })
    const running = await sink.start()
    sink.append('first')
    for (const line of ['111', '222', '333', '444', '555', '666', '777']) sink.append(line)
    await running.stop(new AbortController().signal)
    expect(readFileSync(path, 'utf8')).toBe('777\n')
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('555\n666\n')
    expect(readFileSync(`${path}.2`, 'utf8')).toBe('333\n444\n')
    expect(existsSync(`${path}.3`)).toBe(false)
  })

  it('counts the bytes that a file has from before', async () => {
    const path = join(folder(), 'audit.log')
    writeFileSync(path, '1234567\n')
    await written(new FileSink({ path, logger, maxFileBytes: 8, maxOldFiles: 1 }), ['new'])
    expect(readFileSync(path, 'utf8')).toBe('new\n')
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('1234567\n')
  })

  it('says at the start that it cannot write', async () => {
    const path = folder()
    await expect(new FileSink({ path, logger }).start()).rejects.toThrow(
      `cannot write the audit log ${path}: it is a folder`,
    )
  })

  it('tells of what it loses: when the queue is full, and when writing fails', async () => {
    const path = join(folder(), 'audit.log')
    const sink = new FileSink({ path, logger, maxFileBytes: 4 })
    let lost = 0
    sink.onLost((count) => {
      lost += count
    })
    const running = await sink.start()
    sink.append('x'.repeat(MAX_AUDIT_QUEUE_BYTES))
    expect(lost).toBe(1)
    sink.append('abc')
    // The next file cannot be made: its folder is gone.
    rmSync(folders.pop() ?? '', { recursive: true })
    sink.append('def')
    await running.stop(new AbortController().signal)
    expect(lost).toBe(2)
    expect(logged.filter((line) => line.includes('audit events are being lost'))).toHaveLength(1)
  })
})

describe('StreamSink', () => {
  it('writes lines, and drops them when nobody reads', () => {
    const texts: string[] = []
    const stream = { write: (text: string) => texts.push(text), writableLength: 0 }
    const sink = new StreamSink(stream)
    let lost = 0
    sink.onLost((count) => {
      lost += count
    })
    sink.append('a')
    stream.writableLength = MAX_AUDIT_QUEUE_BYTES
    sink.append('b')
    expect(texts).toEqual(['a\n'])
    expect(lost).toBe(1)
  })
})

describe('Audit', () => {
  const event = { requestURI: '/x?authorization=Bearer%20abcdefghijklmnopqrstuvwxyz' } as AuditEvent

  it('counts events, hides what looks like a credential, and is off without a sink', async () => {
    const registry = new Registry()
    const texts: string[] = []
    const audit = new Audit(registry, new StreamSink({ write: (text) => texts.push(text) }))
    audit.record(event)
    expect(audit.isOn).toBe(true)
    expect(texts).toEqual(['{"requestURI":"/x?authorization=[redacted]"}\n'])
    expect(await registry.metrics()).toContain('apiserver_audit_event_total 1')
    expect(new Audit(new Registry(), undefined).isOn).toBe(false)
  })
})

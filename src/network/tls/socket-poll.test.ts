import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { AskingLine } from './asking-line.ts'
import { SocketPoll } from './socket-poll.ts'

it('reads what has come after each pause, by the clock it is given, up to the end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-poll-'))
  writeFileSync(join(folder, 'bytes'), 'hello')
  const fd = openSync(join(folder, 'bytes'), 'r')
  onTestFinished(() => {
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  const clock = new ManualClock()
  const seen: string[] = []
  const poll = new SocketPoll(
    {
      fd: () => fd,
      address: '192.0.2.1',
      onBytes: (bytes) => seen.push(bytes.toString()),
      onEnd: () => seen.push('end'),
      onError: (error) => seen.push(error.message),
    },
    { clock, line: new AskingLine(clock) },
  )
  poll.start()
  expect(seen).toEqual([])
  await clock.advance(1)
  expect(seen).toEqual(['hello'])
  await clock.advance(10)
  expect([seen, clock.pending]).toEqual([['hello', 'end'], 0])
})

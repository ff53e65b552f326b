import { afterAll, beforeAll, expect, it } from 'vitest'
import { hostileObjects } from './hostile-objects.ts'
import { expectShortTurns, recordedTurn } from './limit.ts'
import { MeteredServer } from './metered-server.ts'
import { longest, type RecordedTurn, record } from './record.ts'

/** Each shape in the first kind that has it; the long run takes every kind. */
const inEveryKind = process.env['CAUSEWAY_LONG'] === '1'
/** One of so many, in turn: a run of minutes instead of the better part of an hour. */
const share = inEveryKind ? 1 : 20

const server = new MeteredServer()

beforeAll(() => server.start())
afterAll(() => server.stop())

it('serves everybody else while it judges the worst objects of every kind', async () => {
  let index = 0
  const turns: [string, RecordedTurn][] = []
  for (const { name, path, body } of hostileObjects(inEveryKind)) {
    index += 1
    if (index % share !== 0) continue
    const sent = { method: 'POST', path: `${path}?dryRun=All`, body }
    const measured = await expectShortTurns(server, name, sent)
    const [kind] = name.split(' ')
    turns.push([`${kind}, the worst of its shapes`, recordedTurn(sent, measured)])
    // A fault of ours would be a 500, and work without end a 413 that says so.
    expect([name, measured.status, measured.answer]).toEqual([
      name,
      expect.any(Number),
      expect.not.stringMatching(/too much work/),
    ])
    expect([name, measured.status]).not.toEqual([name, 500])
    if (measured.status >= 400) expect([name, measured.answerBytes < 512 * 1024]).toEqual([name, true])
  }
  record(longest(turns))
})

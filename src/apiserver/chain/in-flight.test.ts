import { describe, expect, it } from 'vitest'
import { parseRequestInfo } from '../../kube/request-info.ts'
import type { RequestContext } from '../request/handler.ts'
import { MASTERS_GROUP } from '../request/user.ts'
import { MAX_WRITES_IN_FLIGHT, withInFlightLimits } from './in-flight.ts'

/** Requests that stay under way until the test lets them go. */
function world() {
  const metrics = { inFlight: () => {}, longRunning: () => () => {} }
  const ends: (() => void)[] = []
  const handle = withInFlightLimits({ flowSchemaUid: '', priorityLevelUid: '', metrics })(
    () => new Promise<void>((resolve) => ends.push(resolve)),
  )
  const info = parseRequestInfo({ method: 'POST', path: '/api/v1/namespaces/n/pods' })
  /** Whether one more write of the caller gets in. */
  const write = async (name: string, groups: readonly string[] = []): Promise<boolean> => {
    const before = ends.length
    const user = { name, uid: '', groups, extra: {} }
    const answered = handle({ info, user, responseHeaders: {} } as unknown as RequestContext)
    await Promise.race([answered, Promise.resolve()]).catch(() => {})
    return ends.length > before
  }
  const fill = async (name: string): Promise<number> => {
    let count = 0
    while (await write(name)) count += 1
    return count
  }
  const endAll = (): void => {
    for (const end of ends.splice(0)) end()
  }
  return { write, fill, endAll }
}

describe('one caller', () => {
  it('fills half of a share, and leaves the rest to others', async () => {
    const { write, fill } = world()
    expect(await fill('greedy')).toBe(MAX_WRITES_IN_FLIGHT / 2)
    expect(await write('other')).toBe(true)
    expect(await write('greedy')).toBe(false)
  })

  it('gets an eighth of a share that others have filled by half', async () => {
    const { fill } = world()
    await fill('greedy')
    expect(await fill('other')).toBe(MAX_WRITES_IN_FLIGHT / 8)
  })

  it('has its places again when its requests have ended', async () => {
    const { fill, endAll } = world()
    await fill('greedy')
    endAll()
    await Promise.resolve()
    expect(await fill('greedy')).toBe(MAX_WRITES_IN_FLIGHT / 2)
  })
})

it('lets in whoever must be able to mend a full server', async () => {
  const { write, fill } = world()
  for (let index = 0; index < 8; index++) await fill(`greedy-${index}`)
  expect(await write('somebody')).toBe(false)
  expect(await write('admin', [MASTERS_GROUP])).toBe(true)
})

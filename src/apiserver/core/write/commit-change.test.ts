import { afterEach, describe, expect, it } from 'vitest'
import { type ObjectServer, startObjectServer } from '../../../../test/worlds/object-server.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { builtIn } from '../../objects/resource.ts'
import type { Condition } from '../../storage/store.ts'
import type { Allocator } from './allocator.ts'
import { MAX_ALLOCATION_TRIES } from './commit-change.ts'

const CONFIG_MAPS = builtIn('v1', 'configmaps')
const settings: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } }

/** Writes down what it is asked for; its plans have one condition, which holds in the rounds that `holds` names. */
class RecordingAllocator implements Allocator {
  readonly resource = CONFIG_MAPS
  readonly gives = 'numbers'
  readonly calls: string[] = []
  readonly #holds: (round: number) => boolean
  #rounds = 0

  constructor(holds: (round: number) => boolean = () => true) {
    this.#holds = holds
  }

  offer(): void {
    this.calls.push('offer')
  }

  confirm(): void {
    this.calls.push('confirm')
  }

  plan({ key, before, after }: Parameters<Allocator['plan']>[0]) {
    this.calls.push(
      `plan ${before === undefined ? 'nothing' : 'an object'} -> ${after === undefined ? 'nothing' : 'an object'}`,
    )
    const condition: Condition = { key: `lock-of/${key}`, modRevision: this.#holds(++this.#rounds) ? 0 : 1 }
    return { conditions: [condition], writes: [] }
  }

  release(): void {
    this.calls.push('release')
  }
}

describe('the writer and the allocator of a resource', () => {
  let server: ObjectServer
  afterEach(() => server.stop())

  async function start(allocator: Allocator): Promise<void> {
    server = await startObjectServer(() => [], { allocators: () => [allocator] })
  }

  it('offers and confirms before each write, and plans what is written with it', async () => {
    const allocator = new RecordingAllocator()
    await start(allocator)
    await server.create(CONFIG_MAPS, settings)
    await server.update(CONFIG_MAPS, 'default', 'a', (old) => ({ ...old, data: { a: 'b' } }))
    await server.delete(CONFIG_MAPS, 'default', 'a')
    expect(allocator.calls).toEqual([
      'offer',
      'confirm',
      'plan nothing -> an object',
      'offer',
      'confirm',
      'plan an object -> an object',
      'plan an object -> nothing',
    ])
  })

  it('commits nothing in a dry run', async () => {
    const allocator = new RecordingAllocator()
    await start(allocator)
    await server.create(CONFIG_MAPS, settings, { dryRun: true })
    expect(allocator.calls).toEqual(['offer', 'confirm'])
  })

  it('plans again when another server was faster with what was allocated', async () => {
    const allocator = new RecordingAllocator((round) => round === 3)
    await start(allocator)
    await server.create(CONFIG_MAPS, settings)
    expect(allocator.calls.filter((call) => call.startsWith('plan'))).toHaveLength(3)
    expect(allocator.calls).not.toContain('release')
  })

  it('gives up after so many rounds, and says what others took', async () => {
    const allocator = new RecordingAllocator(() => false)
    await start(allocator)
    const text = `ConfigMap "default/a": other servers took its numbers ${MAX_ALLOCATION_TRIES} times; try again`
    await expect(server.create(CONFIG_MAPS, settings)).rejects.toThrow(text)
    expect(allocator.calls.filter((call) => call.startsWith('plan'))).toHaveLength(MAX_ALLOCATION_TRIES)
  })

  it('takes back what was given to an object whose name is taken', async () => {
    const allocator = new RecordingAllocator()
    await start(allocator)
    await server.create(CONFIG_MAPS, settings)
    await expect(server.create(CONFIG_MAPS, settings)).rejects.toThrow('already exists')
    expect(allocator.calls.at(-1)).toBe('release')
  })
})

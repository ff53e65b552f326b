/**
 * Unmodified in-cluster clients with their own informers, whose edge loses its hub: for seconds, for longer, and until the API
 * server has forgotten what happened meanwhile. Each is a program around a published library that ends with an error as soon as the
 * library shows it one.
 */
import { readFile } from 'node:fs/promises'
import { delimiter } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { peersDirectory } from './control-plane.ts'
import { EndpointWorld } from './endpoint-transparency-edge.ts'
import { type ControlPlane, describeReal, kubectl } from './harness.ts'
import { CLIENT_ACCOUNT, type Client, clients, manifestOf } from './in-cluster-clients/clients.ts'
import { missingForPods, PodProcess } from './in-cluster-clients/pod.ts'

/** The short cut, and the long one: a minute, where somebody waits for it. */
const shortCutMs = 5_000
const longCutMs = Number(process.env['CUT_SECONDS'] ?? 15) * 1_000

const built = clients.filter(({ missing }) => missing.length === 0)
const unbuilt = clients.filter(({ missing }) => missing.length > 0).map(({ name }) => name)

/** What a library wrote to standard error, without its diary, and without Java's words on threads that were told to end. */
function complaintsIn(errors: string): string[] {
  const lines = errors.split('\n').filter((line) => line !== '' && !/ INFO |^\tat /.test(line))
  return lines.filter((line) => !/interrupted|^java.lang.InterruptedException$/.test(line))
}

class Follower {
  readonly name: string
  readonly #plane: ControlPlane
  readonly #program: PodProcess

  private constructor(name: string, plane: ControlPlane, program: PodProcess) {
    this.name = name
    this.#plane = plane
    this.#program = program
  }

  /** Watches when this is over. */
  static async start({ name, command }: Client, { plane, endpoint }: EndpointWorld): Promise<Follower> {
    await kubectl(plane, ['create', '--filename=-'], manifestOf(name))
    const server = new URL(endpoint)
    const program = await PodProcess.start({
      host: server.hostname,
      port: Number(server.port),
      caPem: await readFile(plane.caFile, 'utf8'),
      token: (await kubectl(plane, ['create', 'token', CLIENT_ACCOUNT, '--namespace', name])).trim(),
      namespace: name,
      command,
      path: [peersDirectory(), process.env['PATH']].join(delimiter),
    })
    await program.until('watching')
    return new Follower(name, plane, program)
  }

  async onSignal(verb: string, ...args: string[]): Promise<void> {
    await kubectl(this.#plane, [verb, 'configmap', 'signal', '--namespace', this.name, ...args])
  }

  async patch(phase: string): Promise<void> {
    await this.onSignal('patch', `--patch={"data":{"phase":"${phase}"}}`)
  }

  async untilSeen(phase: string): Promise<void> {
    while ((await this.#program.until('seen'))['phase'] !== phase);
  }

  get phases(): unknown[] {
    return this.#program.transcript.filter(({ step }) => step === 'seen').map(({ phase }) => phase)
  }

  async untilGone(): Promise<{ readonly code: number | null; readonly errors: string }> {
    await this.#program.until('gone')
    return await this.#program.end()
  }

  async stop(): Promise<void> {
    await this.#program.stop()
  }
}

describeReal(
  `in-cluster clients across cuts${unbuilt.length === 0 ? '' : ` (without ${unbuilt.join(', ')}: "npm run clients" builds them)`}`,
  () => {
    let world: EndpointWorld
    const followers: Follower[] = []
    const each = async (work: (follower: Follower) => Promise<unknown>): Promise<unknown> =>
      await Promise.all(followers.map(work))

    beforeAll(async () => {
      world = await EndpointWorld.start({})
      for (const client of built) followers.push(await Follower.start(client, world))
    })

    afterAll(async () => {
      await each((follower) => follower.stop())
      await world?.stop()
    })

    /** Packets are answered by nobody for as long as this takes. */
    async function cutFor(durationMs: number, meanwhile: () => Promise<unknown>): Promise<void> {
      await world.killHub()
      const [result] = await Promise.allSettled([meanwhile(), systemClock.sleep(durationMs)])
      await world.startHub()
      if (result.status === 'rejected') throw result.reason
    }

    /** Of all that happened before, nobody can be told any more: neither by etcd nor out of the API server's memory. */
    async function forgetHistory(): Promise<void> {
      const { plane } = world
      const path = '/api/v1/namespaces/default/configmaps?limit=1'
      const list = JSON.parse(await kubectl(plane, ['get', '--raw', path])) as { metadata: { resourceVersion: string } }
      const body = JSON.stringify({ revision: list.metadata.resourceVersion, physical: true })
      expect((await fetch(`${plane.etcd}/v3/kv/compaction`, { method: 'POST', body })).status).toBe(200)
      await plane.killApiServer()
      await plane.startApiServer()
    }

    it('see what happens', async () => {
      await each((follower) => follower.onSignal('create', '--from-literal=phase=one'))
      await each((follower) => follower.untilSeen('one'))
    })

    it(`see what happened in a cut of ${shortCutMs / 1000} s`, async () => {
      await cutFor(shortCutMs, () => each((follower) => follower.patch('two')))
      await each((follower) => follower.untilSeen('two'))
    })

    it(`see what happened in a cut of ${longCutMs / 1000} s, step by step`, async () => {
      await cutFor(longCutMs, async () => {
        for (const phase of ['three', 'four']) await each((follower) => follower.patch(phase))
      })
      await each((follower) => follower.untilSeen('four'))
    })

    it('see what became of all that happened before the API server forgot it', async () => {
      await cutFor(0, async () => {
        for (const phase of ['lost', 'lost as well', 'five']) await each((follower) => follower.patch(phase))
        await forgetHistory()
      })
      await each((follower) => follower.untilSeen('five'))
    })

    it('were shown each change once, in order, and not one error', async () => {
      await each((follower) => follower.onSignal('delete'))
      for (const follower of followers) {
        const { code, errors } = await follower.untilGone()
        expect(follower.phases, follower.name).toEqual(['one', 'two', 'three', 'four', 'five'])
        expect(code, `${follower.name}: ${errors}`).toBe(0)
        expect(complaintsIn(errors), follower.name).toEqual([])
      }
    })
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'],
  missingForPods(),
)

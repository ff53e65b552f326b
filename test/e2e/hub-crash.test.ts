/** Hubs and edges that end without a word, at any moment: whoever starts again goes on where it was. */
import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { endAll, type Launched, patience } from './harness.ts'
import { ask, HubCluster, type RunningHub } from './hub-cluster.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
const edges = isLong ? 20 : 2
const killsPerEdge = isLong ? 12 : 4
/** A start takes about a second, and a certificate is renewed after three or four: a kill meets any moment of both. */
const longestLifeMs = 2_500

let cluster: HubCluster

beforeAll(async () => {
  cluster = await HubCluster.start()
})
afterAll(async () => {
  await cluster.close()
  await endAll()
})

async function kill(process: Launched): Promise<void> {
  process.kill('SIGKILL')
  await process.exited
}

it('kill -9 of hub and edge at random moments of joining and rotating never locks a node out', async () => {
  const flags = ['--certificate-life', '5s', '--log-level', 'warn']
  const listen = await cluster.lastingAddress()
  let hub: RunningHub = await cluster.hub('hub', ...listen, ...flags)
  for (let index = 1; index <= edges; index++) {
    const node = `edge-${index}`
    const token = await cluster.token(`token-${index}`, { node, uses: 1 })
    const start = (): Launched => cluster.launchEdge(node, '--hub', hub.url, '--token-file', token)
    let edge = start()
    const story: string[] = []
    for (let kills = 0; kills < killsPerEdge; kills++) {
      const delayMs = Math.random() * longestLifeMs
      const victim = Math.random() < 0.6 ? 'edge' : 'hub'
      story.push(`${victim} after ${Math.round(delayMs)} ms`)
      await systemClock.sleep(delayMs)
      await kill(victim === 'edge' ? edge : hub.process)
      if (victim === 'hub') hub = await cluster.hub('hub', ...listen, ...flags)
      // An edge that was joining while there was no hub has ended by itself: it says so, and is started again.
      if (victim === 'edge' || (await hasEnded(edge))) edge = start()
    }
    await vi.waitFor(async () => {
      if (await hasEnded(edge)) edge = start()
      expect(edge.stdout, `${story.join(', ')}\n${edge.stderr}`).toContain('ready')
      expect(await ask(hub.url, '/v1/node', cluster.credential(node)), story.join(', ')).toBe('ok')
    }, patience)
    await edge.logged('certificate renewed')
    await vi.waitFor(async () => expect(await ask(hub.url, '/v1/node', cluster.credential(node))).toBe('ok'), patience)
    edge.kill('SIGTERM')
    expect(await edge.exited, story.join(', ')).toEqual({ code: 0, signal: null })
    expect(await cluster.claims()).toContainEqual(expect.objectContaining({ node, state: 'held' }))
    expect(cluster.has(token)).toBe(false)
    const left = readdirSync(cluster.path(node)).filter((name) => !ofTheEndpoint.has(name))
    const identity = ['ca.crt', 'edge.crt', 'edge.json', 'edge.key', 'kubernetes-ca.crt']
    expect(left.toSorted(), `${story.join(', ')}; left: ${left.join(' ')}`).toEqual(identity)
  }
})

/** The cluster may or may not have had the time to sign these, and the endpoint to be read. */
const ofTheEndpoint = new Set([
  'filter-view.json',
  'kubelet-client.crt',
  'kubelet-client.key',
  'node-certificates.json',
  'replica',
  'replica.key',
  'serving.crt',
  'serving.key',
])

async function hasEnded(process: Launched): Promise<boolean> {
  return await Promise.race([process.exited.then(() => true), systemClock.sleep(0).then(() => false)])
}

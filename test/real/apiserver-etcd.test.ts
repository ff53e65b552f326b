/** Two API servers of ours on one real etcd: what one writes the other shows, and either may go. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { configMaps, KubeClient, loadKubeconfig } from '../../src/kube/index.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

interface Ours {
  readonly child: ChildProcess
  readonly client: KubeClient
}

describeReal('two causeway apiservers on one etcd', () => {
  let plane: ControlPlane
  let folder: string
  const started: Ours[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-two-'))
    // Only its etcd is wanted; our keys stand beside those of the real API server.
    plane = await startControlPlane()
  })
  afterAll(async () => {
    for (const { child, client } of started) {
      child.kill('SIGKILL')
      await client.close()
    }
    await plane?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function start(): Promise<Ours> {
    const etcd = ['--etcd-servers', plane.etcd, '--etcd-prefix', '/causeway/']
    const flags = [
      '--data-dir',
      join(folder, String(started.length)),
      '--secure-port',
      '0',
      '--health-address',
      '127.0.0.1:0',
    ]
    const child = spawn(process.execPath, [command, 'apiserver', ...flags, ...etcd], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`causeway ended with ${String(code)}`)))
    ended.catch(() => {})
    await Promise.race([once(child.stdout, 'data'), ended])
    const connection = await loadKubeconfig({ file: join(folder, String(started.length), 'admin.kubeconfig') })
    const ours = { child, client: new KubeClient(connection) }
    started.push(ours)
    return ours
  }

  it('shares objects, versions and watches, and survives the end of one', async () => {
    const first = await start()
    const second = await start()
    const there = inDefault(first.client)
    const here = inDefault(second.client)
    const watch = await here.watch({
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      fieldSelector: 'metadata.name=a',
    })
    const events = watch[Symbol.asyncIterator]()
    const created = await there.create({ metadata: { name: 'a' }, data: { k: '1' } })
    const seen = await events.next()
    expect(seen.value).toMatchObject({
      type: 'ADDED',
      object: { metadata: { resourceVersion: created.metadata?.resourceVersion } },
    })
    expect(await here.get('a')).toEqual(created)
    await expect(here.create({ metadata: { name: 'a' } })).rejects.toMatchObject({ code: 409 })
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    const updated = await here.update({ ...created, data: { k: '2' } })
    expect((await events.next()).value).toMatchObject({ type: 'MODIFIED', object: { data: { k: '2' } } })
    expect(Number(updated.metadata?.resourceVersion)).toBeGreaterThan(Number(created.metadata?.resourceVersion))
    watch.close()
    const third = await start()
    expect((await third.client.resource(configMaps).in('default').get('a')).data).toEqual({ k: '2' })
  })
})

function inDefault(client: KubeClient) {
  return client.resource(configMaps).in('default')
}

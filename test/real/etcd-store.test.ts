/** The contract of stores on a real etcd, and what only that one can show: several stores at once, and its death. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { EtcdTls } from '../../src/apiserver/storage/etcd/client.ts'
import { EtcdStore } from '../../src/apiserver/storage/etcd-store.ts'
import type { Transaction } from '../../src/apiserver/storage/store.ts'
import { StoreFullError, StoreUnavailableError } from '../../src/apiserver/storage/store-errors.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { EtcdProcess } from '../contract/store/etcd.ts'
import { storeContract } from '../contract/store/suite.ts'
import { Watcher } from '../contract/store/watcher.ts'
import { describeReal } from './harness.ts'

const put = (key: string, value: string | Buffer): Transaction => ({
  conditions: [],
  writes: [{ type: 'put', key, value: Buffer.from(value) }],
})

describeReal('EtcdStore', () => {
  let etcd: EtcdProcess
  const stores: EtcdStore[] = []
  const openStore = (keyPrefix: string, endpoints = [etcd.url]): EtcdStore => {
    const store = new EtcdStore({ endpoints, keyPrefix, progressIntervalMs: 100 }, systemClock)
    stores.push(store)
    return store
  }
  beforeAll(async () => {
    etcd = await EtcdProcess.start()
  })
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()))
  })
  afterAll(() => etcd?.stop())

  // Time passes by itself here: what waits for it, waits for the change that it brings.
  storeContract(
    'EtcdStore',
    async () => {
      const keyPrefix = `/${randomUUID()}/`
      let store = openStore(keyPrefix)
      const reopen = async () => {
        await store.close()
        store = openStore(keyPrefix)
        return store
      }
      return { store, passSeconds: async () => undefined, reopen, dispose: () => store.close() }
    },
    { runs: 20, leaseSeconds: 5 },
  )

  it('shows the writes of one store to the watches of another', async () => {
    const keyPrefix = `/${randomUUID()}/`
    const [writer, reader] = [openStore(keyPrefix), openStore(keyPrefix)]
    const watcher = new Watcher(reader, '', await writer.revision())
    const { revision } = await writer.commit(put('a', 'one'))
    await watcher.untilRevision(revision)
    expect(watcher.changes).toMatchObject([{ type: 'put', key: 'a', revision, previous: undefined }])
    expect((await reader.get('a')).entry?.value.toString()).toBe('one')
    await watcher.stop()
  })

  it('keeps its watches over the death of etcd: nothing is lost and nothing comes twice', async () => {
    const store = openStore(`/${randomUUID()}/`)
    const start = await store.revision()
    const watcher = new Watcher(store, '', start)
    const written: number[] = []
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < 20; index++) written.push((await store.commit(put(`k${index}`, `${round}`))).revision)
      await etcd.kill()
      const calls = await Promise.allSettled([store.commit(put('lost', 'x')), store.get('k1')])
      for (const call of calls) expect(call).toMatchObject({ reason: { name: 'StoreUnavailableError' } })
      await etcd.restart()
    }
    const { revision } = await store.commit(put('end', 'x'))
    await watcher.untilRevision(revision)
    expect(watcher.changes.map((change) => change.revision)).toEqual([...written, revision])
    await watcher.stop()
  })

  it('finds the member that is up', async () => {
    const store = openStore(`/${randomUUID()}/`, ['http://127.0.0.1:1', etcd.url])
    expect((await store.commit(put('a', 'one'))).committed).toBe(true)
    expect((await store.get('a')).entry?.value.toString()).toBe('one')
  })

  it('speaks TLS, and proves who it is', async () => {
    const { etcd: secure, certificate, key } = await EtcdProcess.startWithTls()
    const open = (tls: EtcdTls): EtcdStore => {
      const store = new EtcdStore({ endpoints: [secure.url], tls }, systemClock)
      stores.push(store)
      return store
    }
    expect((await open({ ca: certificate, cert: certificate, key }).commit(put('a', 'one'))).committed).toBe(true)
    const [anonymous, gullible] = [open({ ca: certificate }), open({ cert: certificate, key })]
    await expect(anonymous.get('a')).rejects.toBeInstanceOf(StoreUnavailableError)
    await expect(gullible.get('a')).rejects.toThrow('self-signed certificate')
    await Promise.all(stores.map((store) => store.close()))
    await secure.stop()
  })

  it('says when etcd is full', async () => {
    const small = await EtcdProcess.start(['--quota-backend-bytes=4000000'])
    const store = openStore('/', [small.url])
    const value = Buffer.alloc(1_000_000, 'x')
    const fill = async (): Promise<void> => {
      for (let index = 0; index < 20; index++) await store.commit(put(`k${index}`, value))
    }
    await expect(fill()).rejects.toBeInstanceOf(StoreFullError)
    expect((await store.get('k0')).entry?.value).toHaveLength(value.length)
    await store.close()
    await small.stop()
  })
}, ['etcd'])

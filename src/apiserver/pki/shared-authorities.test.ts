import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { MemoryStore } from '../storage/memory-store.ts'
import { loadPki, type Pki } from './pki.ts'
import { AuthorityMismatchError, SharedAuthorities } from './shared-authorities.ts'

const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }
const clock = new ManualClock()
let store: MemoryStore
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-pki-'))
  for (const name of ['a', 'b', 'c']) await mkdir(join(folder, name))
  store = new MemoryStore(clock)
})
afterEach(async () => {
  await store.close()
  removeFolder(folder)
})

function load(name: string, from: MemoryStore | undefined = store): Promise<Pki> {
  const dataDir = join(folder, name)
  return loadPki(dataDir, names, clock, from === undefined ? undefined : new SharedAuthorities(from, dataDir))
}

function fingerprints({ ca, frontProxyCa }: Pki): string[] {
  return [ca, frontProxyCa].map(({ certificate }) => certificate.fingerprint)
}

describe('servers on one store', () => {
  it('have one CA, one front-proxy CA and one ServiceAccount key, also when they start at the same instant', async () => {
    const all = await Promise.all(['a', 'b', 'c'].map((name) => load(name)))
    const [first, ...others] = all
    for (const other of others) {
      expect(fingerprints(other)).toEqual(first === undefined ? [] : fingerprints(first))
      expect(first?.serviceAccountKey.equals(other.serviceAccountKey)).toBe(true)
      expect(other.serving.keyPem).not.toBe(first?.serving.keyPem)
    }
    for (const { serving, admin } of all) {
      const options = { trust: [first?.ca.certificate ?? []].flat(), atMs: clock.nowMs() }
      expect(verifyCertificate(serving.chain[0], { ...options, usage: 'serverAuth' }).ok).toBe(true)
      expect(verifyCertificate(admin.chain[0], { ...options, usage: 'clientAuth' }).ok).toBe(true)
    }
  })

  it('take what the first one had in its folder, and keep theirs over restarts', async () => {
    const alone = await loadPki(join(folder, 'a'), names, clock)
    const shared = await load('a')
    expect(fingerprints(shared)).toEqual(fingerprints(alone))
    expect(shared.serving.keyPem).toBe(alone.serving.keyPem)
    const other = await load('b')
    expect(fingerprints(other)).toEqual(fingerprints(alone))
    expect((await load('b')).serving.keyPem).toBe(other.serving.keyPem)
  })

  it('refuse to start with a CA of their own that the others do not know', async () => {
    await load('a')
    await loadPki(join(folder, 'b'), names, clock)
    const error = await load('b').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(AuthorityMismatchError)
    expect(String(error)).toContain(`Remove ${join(folder, 'b', 'ca.crt')} and ${join(folder, 'b', 'ca.key')}`)
  })

  it('get new certificates in a folder that was used with another store', async () => {
    const before = await load('a')
    const otherStore = new MemoryStore(clock)
    const after = await load('a', otherStore)
    await otherStore.close()
    expect(fingerprints(after)).not.toEqual(fingerprints(before))
    expect(after.serving.keyPem).not.toBe(before.serving.keyPem)
    expect(after.admin.chain[0].x509.verify(after.ca.certificate.publicKey)).toBe(true)
  })
})

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FileOperations } from '../runtime/files/file-operations.ts'
import { certificatePem } from './certificate.ts'
import { userName } from './distinguished-name.ts'
import { issueSelfSignedCa } from './issue.ts'
import { generateKeys, privateKeyPem } from './keys.ts'
import { readForeignPair, readPair, writePair } from './pair-file.ts'

interface Texts {
  readonly certificatePem: string
  readonly keyPem: string
}

async function makePair(): Promise<Texts> {
  const { privateKey } = await generateKeys()
  const template = { subject: userName('edge'), notBeforeMs: 0, notAfterMs: 1e12 }
  const { certificate } = await issueSelfSignedCa(template, privateKey)
  return { certificatePem: certificatePem(certificate), keyPem: privateKeyPem(privateKey) }
}

let old: Texts
let renewed: Texts
let third: Texts
beforeAll(async () => {
  ;[old, renewed, third] = await Promise.all([makePair(), makePair(), makePair()])
})

const paths = { certificate: '/d/edge.crt', key: '/d/edge.key' }

type NameChange = (names: Map<string, Buffer>) => void

/**
 * A disk that can lose power. Content counts only after its sync; changes of names count only after the sync of the
 * folder: until then any subset of them may have survived, in any combination, as real file systems allow.
 */
class FragileDisk implements FileOperations {
  durable = new Map<string, Buffer>()
  #pending: NameChange[] = []
  readonly #contents = new Map<Buffer, Buffer>()
  #operationsLeft: number
  operations = 0

  constructor(names: ReadonlyMap<string, Buffer>, operationsLeft = Number.POSITIVE_INFINITY) {
    this.durable = new Map(names)
    this.#operationsLeft = operationsLeft
  }

  #step(): void {
    this.operations++
    if (this.#operationsLeft-- <= 0) throw new Error('power lost')
  }

  #now(): Map<string, Buffer> {
    const names = new Map(this.durable)
    for (const change of this.#pending) change(names)
    return names
  }

  async create(path: string) {
    this.#step()
    const file = { content: Buffer.from('torn') }
    const inode = Buffer.from(path)
    this.#contents.set(inode, file.content)
    this.#pending.push((names) => names.set(path, this.#contents.get(inode) ?? Buffer.alloc(0)))
    let written: Buffer = Buffer.alloc(0)
    return {
      write: async (bytes: Uint8Array) => {
        this.#step()
        written = Buffer.from(bytes)
      },
      sync: async () => {
        this.#step()
        this.#contents.set(inode, written)
      },
      close: async () => this.#step(),
    }
  }

  async rename(from: string, to: string) {
    this.#step()
    const content = this.#now().get(from)
    if (content === undefined) throw new Error(`no ${from}`)
    this.#pending.push((names) => {
      names.delete(from)
      names.set(to, content)
    })
  }

  async remove(path: string) {
    this.#step()
    this.#pending.push((names) => names.delete(path))
  }

  async syncFolder(path: string) {
    this.#step()
    expect(path).toBe(dirname(paths.key))
    this.durable = this.#now()
    this.#pending = []
  }

  async read(path: string) {
    return this.#now().get(path)
  }

  async list() {
    return [...this.#now().keys()]
  }

  /** Every state the disk may be found in after a loss of power now. */
  survivors(): Map<string, Buffer>[] {
    return Array.from({ length: 2 ** this.#pending.length }, (_, mask) => {
      const names = new Map(this.durable)
      for (const [index, change] of this.#pending.entries()) if ((mask & (1 << index)) !== 0) change(names)
      return names
    })
  }
}

function textsOn(pair: Texts | undefined): string {
  for (const [name, texts] of Object.entries({ old, renewed, third }))
    if (pair?.keyPem === texts.keyPem && pair.certificatePem === texts.certificatePem) return name
  return pair === undefined ? 'none' : 'mixed'
}

function diskWith(texts: Texts | undefined): Map<string, Buffer> {
  if (texts === undefined) return new Map()
  return new Map([
    [paths.certificate, Buffer.from(texts.certificatePem)],
    [paths.key, Buffer.from(texts.keyPem)],
  ])
}

/** States that differ only in what nobody reads are one. */
function summary(state: ReadonlyMap<string, Buffer>): string {
  const lines = [...state]
    .filter(([path]) => !path.endsWith('.tmp'))
    .map(([path, content]) => `${path} ${content.toString()}`)
  return lines.sort().join('\n')
}

/** Runs `work` once for every operation, losing power before it, and yields every state the disk may be left in. */
async function everyCrash(
  start: ReadonlyMap<string, Buffer>,
  work: (disk: FragileDisk) => Promise<unknown>,
): Promise<Map<string, Buffer>[]> {
  const states = new Map<string, Map<string, Buffer>>()
  for (let crashAt = 0; ; crashAt++) {
    const disk = new FragileDisk(start, crashAt)
    const finished = await work(disk).then(
      () => true,
      () => false,
    )
    for (const state of disk.survivors()) states.set(summary(state), state)
    if (finished) return [...states.values()]
  }
}

describe('a loss of power at any operation', () => {
  it('of a write leaves the old pair or the new one', async () => {
    const states = await everyCrash(diskWith(old), (disk) => writePair(paths, renewed, disk))
    const seen = new Set<string>()
    for (const state of states) seen.add(textsOn(await readPair(paths, new FragileDisk(state))))
    expect([...seen].sort()).toEqual(['old', 'renewed'])
    expect(states.length).toBeGreaterThanOrEqual(6)
  })

  it('of the first write leaves nothing or the new pair', async () => {
    const states = await everyCrash(diskWith(undefined), (disk) => writePair(paths, renewed, disk))
    const seen = new Set<string>()
    for (const state of states) seen.add(textsOn(await readPair(paths, new FragileDisk(state))))
    expect([...seen].sort()).toEqual(['none', 'renewed'])
  })

  it('of a write, then of the read that repairs it, changes nothing about that', async () => {
    for (const state of await everyCrash(diskWith(old), (disk) => writePair(paths, renewed, disk))) {
      const decided = textsOn(await readPair(paths, new FragileDisk(state)))
      for (const again of await everyCrash(state, (disk) => readPair(paths, disk)))
        expect(textsOn(await readPair(paths, new FragileDisk(again)))).toBe(decided)
    }
  })

  it('of a write, then of a second write, leaves a whole pair', async () => {
    const seen = new Set<string>()
    for (const state of await everyCrash(diskWith(old), (disk) => writePair(paths, renewed, disk)))
      for (const again of await everyCrash(state, (disk) => writePair(paths, third, disk)))
        seen.add(textsOn(await readPair(paths, new FragileDisk(again))))
    expect([...seen].sort()).toEqual(['old', 'renewed', 'third'])
  })

  it('after a write has returned loses nothing', async () => {
    const disk = new FragileDisk(diskWith(old))
    await writePair(paths, renewed, disk)
    for (const state of disk.survivors()) expect(textsOn(await readPair(paths, new FragileDisk(state)))).toBe('renewed')
  })
})

describe('on a real disk', () => {
  let folder = ''
  let files = paths
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'identity-'))
    files = { certificate: join(folder, 'edge.crt'), key: join(folder, 'edge.key') }
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('a pair is written, read and replaced, leaving two files, of which the key is private', async () => {
    expect(await readPair(files)).toBeUndefined()
    await writePair(files, old)
    await writePair(files, renewed)
    expect(textsOn(await readPair(files))).toBe('renewed')
    expect(readdirSync(folder).sort()).toEqual(['edge.crt', 'edge.key'])
    expect(statSync(files.key).mode & 0o777).toBe(0o600)
    expect(statSync(files.certificate).mode & 0o777).toBe(0o644)
  })

  it('an interrupted write is finished by the next read', async () => {
    await writePair(files, old)
    writeFileSync(files.key, renewed.keyPem)
    writeFileSync(`${files.certificate}.next`, renewed.certificatePem)
    expect(textsOn(await readPair(files))).toBe('renewed')
    expect(readFileSync(files.certificate, 'utf8')).toBe(renewed.certificatePem)
    expect(readdirSync(folder).sort()).toEqual(['edge.crt', 'edge.key'])
  })

  it('what does not fit together is not written', async () => {
    await writePair(files, old)
    const mixed = { certificatePem: renewed.certificatePem, keyPem: third.keyPem }
    await expect(writePair(files, mixed)).rejects.toMatchObject({ code: 'key-mismatch' })
    expect(textsOn(await readPair(files))).toBe('old')
  })

  it('an unusable pair can be replaced', async () => {
    writeFileSync(files.certificate, 'garbage')
    await writePair(files, renewed)
    expect(textsOn(await readPair(files))).toBe('renewed')
  })

  it.each([readPair, readForeignPair])('half a pair and a mismatched pair are named', async (read) => {
    writeFileSync(files.certificate, old.certificatePem)
    await expect(read(files)).rejects.toMatchObject({
      code: 'half-pair',
      message: expect.stringContaining('edge.key does not'),
    })
    writeFileSync(files.key, renewed.keyPem)
    await expect(read(files)).rejects.toMatchObject({ code: 'key-mismatch' })
    rmSync(files.certificate)
    await expect(read(files)).rejects.toMatchObject({ code: 'half-pair' })
  })

  it('a pair of somebody else is not touched', async () => {
    writeFileSync(files.certificate, old.certificatePem)
    writeFileSync(files.key, old.keyPem)
    writeFileSync(`${files.key}.next`, 'not ours to judge')
    expect(textsOn(await readForeignPair(files))).toBe('old')
    expect(readdirSync(folder)).toHaveLength(3)
  })

  it('both files must be in one folder', async () => {
    await expect(writePair({ ...files, key: '/elsewhere/edge.key' }, old)).rejects.toMatchObject({
      code: 'invalid-template',
    })
  })
})

/**
 * A disk in memory that can lose power. Content counts only after its sync; changes of names count only after the sync of
 * their folder: until then any subset of them may have survived, in any combination, as real file systems allow.
 */
import { basename, dirname } from 'node:path'
import type { FileOperations, NewFile } from '../../src/runtime/files/file-operations.ts'

export type DiskContent = ReadonlyMap<string, Buffer>

interface Inode {
  content: Buffer
}

interface NameChange {
  readonly folder: string
  apply(names: Map<string, Inode>): void
}

export class FragileDisk implements FileOperations {
  #durable: Map<string, Inode>
  #pending: NameChange[] = []
  readonly #modes = new Map<string, number>()
  readonly #isReadOnly: boolean
  /** Called before each operation that changes something: the moment for a test to look at `survivors`. */
  beforeOperation: () => void = () => {}

  constructor(content: DiskContent = new Map(), access: 'read-write' | 'read-only' = 'read-write') {
    this.#durable = new Map([...content].map(([path, bytes]) => [path, { content: bytes }]))
    this.#isReadOnly = access === 'read-only'
  }

  create = async (path: string, mode: number): Promise<NewFile> => {
    this.#step()
    const inode: Inode = { content: Buffer.from('torn') }
    this.#modes.set(path, mode)
    this.#change(path, (names) => names.set(path, inode))
    let written: Buffer = Buffer.alloc(0)
    return {
      write: async (bytes) => {
        this.#step()
        written = Buffer.from(bytes)
      },
      sync: async () => {
        this.#step()
        inode.content = written
      },
      close: async () => this.#step(),
    }
  }

  rename = async (from: string, to: string): Promise<void> => {
    this.#step()
    const inode = this.#now().get(from)
    if (inode === undefined) throw Object.assign(new Error(`no ${from}`), { code: 'ENOENT' })
    this.#modes.set(to, this.#modes.get(from) ?? 0)
    this.#change(from, (names) => {
      names.delete(from)
      names.set(to, inode)
    })
  }

  remove = async (path: string): Promise<void> => {
    this.#step()
    this.#change(path, (names) => names.delete(path))
  }

  syncFolder = async (path: string): Promise<void> => {
    this.#step()
    for (const change of this.#pending.filter(({ folder }) => folder === path)) change.apply(this.#durable)
    this.#pending = this.#pending.filter(({ folder }) => folder !== path)
  }

  read = async (path: string): Promise<Buffer | undefined> => this.#now().get(path)?.content

  list = async (folder: string): Promise<string[]> =>
    [...this.#now().keys()].filter((path) => dirname(path) === folder).map((path) => basename(path))

  /** As a program that runs on sees it. */
  content(): Map<string, Buffer> {
    return contentOf(this.#now())
  }

  modeOf(path: string): number | undefined {
    return this.#modes.get(path)
  }

  /** Every state the disk may be found in after a loss of power now; those that differ in leftovers only are one. */
  survivors(): DiskContent[] {
    const states = new Map<string, DiskContent>()
    for (let mask = 0; mask < 2 ** this.#pending.length; mask++) {
      const names = new Map(this.#durable)
      for (const [index, change] of this.#pending.entries()) if ((mask & (1 << index)) !== 0) change.apply(names)
      const content = contentOf(names)
      states.set(summary(content), content)
    }
    return [...states.values()]
  }

  #step(): void {
    this.beforeOperation()
    if (this.#isReadOnly) throw Object.assign(new Error('read-only'), { code: 'EROFS' })
  }

  #change(path: string, apply: NameChange['apply']): void {
    this.#pending.push({ folder: dirname(path), apply })
  }

  #now(): Map<string, Inode> {
    const names = new Map(this.#durable)
    for (const change of this.#pending) change.apply(names)
    return names
  }
}

function contentOf(names: ReadonlyMap<string, Inode>): Map<string, Buffer> {
  return new Map([...names].map(([path, { content }]) => [path, content]))
}

/** The same for disks that differ in nothing but leftovers that nobody reads. */
export function summary(content: DiskContent): string {
  const lines = [...content]
    .filter(([path]) => !path.endsWith('.tmp'))
    .map(([path, bytes]) => `${path} ${bytes.toString('hex')}`)
  return lines.toSorted().join('\n')
}

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import { type NamespaceKind, namespaceCommand, type Preparation } from './mount-script.ts'
import { attemptCommand, findNamespaceKind } from './namespaces.ts'

const userId = process.getuid?.() ?? -1
const groupId = process.getgid?.() ?? -1
let folder: string
let preparation: Preparation

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway namespace $(x)-'))
  for (const name of ['files', 'stage', 'base', 'home']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'files/token'), 'abc')
  writeFileSync(join(folder, 'home/config'), 'mine')
  preparation = {
    files: join(folder, 'files'),
    stage: join(folder, 'stage'),
    target: join(folder, 'base/secrets/account'),
    hidden: undefined,
    userId,
    groupId,
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the kind of namespace', () => {
  const asked: string[] = []
  const refusing = async ([, first = '']: readonly string[]): Promise<string> => {
    asked.push(first)
    return 'not permitted'
  }

  it('is a plain one for root, and one of the user otherwise or where that is forbidden', async () => {
    const all = async (): Promise<undefined> => undefined
    expect(await findNamespaceKind({ ...preparation, userId: 0 }, all)).toBe('root')
    expect(await findNamespaceKind({ ...preparation, userId: 7 }, all)).toBe('user')
    const onlyUser = async (command: readonly string[]) => (command[1] === '--user' ? undefined : 'no')
    expect(await findNamespaceKind({ ...preparation, userId: 0 }, onlyUser)).toBe('user')
  })

  it('is none where all are forbidden, and there is another way', async () => {
    await expect(findNamespaceKind({ ...preparation, userId: 0 }, refusing)).rejects.toThrow(
      '(a mount namespace: not permitted; an unprivileged user namespace: not permitted); run as root, or use --kubeconfig-only',
    )
    expect(asked).toEqual(['--mount', '--user'])
  })

  it('is found out with the words of what failed', async () => {
    expect(await attemptCommand(['/bin/sh', '-c', 'exit 0'])).toBeUndefined()
    expect(await attemptCommand(['/bin/sh', '-c', 'echo a  b >&2; exit 3'])).toBe('a b')
    expect(await attemptCommand(['/nonexistent/x'])).toBe('there is no /nonexistent/x command')
  })
})

/** The same command that is used, with a program that shows what it sees. */
function inside(kind: NamespaceKind, script: string, change: Partial<Preparation> = {}) {
  const [program = '', ...args] = namespaceCommand(kind, { ...preparation, ...change }, [
    'sh',
    '-c',
    script,
    'x',
    folder,
  ])
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return { status, stdout, stderr }
}

const kinds: readonly NamespaceKind[] = ['root', 'user']
for (const kind of kinds) {
  // What this machine forbids cannot be seen here; the choice between the kinds is tested above.
  const probe = kind === 'root' ? ['--mount'] : ['--user', '--map-root-user', '--mount']
  const isAllowed = spawnSync('unshare', [...probe, 'mount', '-n', '-t', 'tmpfs', 'x', tmpdir()]).status === 0
  describe.skipIf(!isAllowed)(`a ${kind} namespace`, () => {
    it('shows the files where nothing was, beside all that was there, and to nobody else', () => {
      const base = join(folder, 'base')
      mkdirSync(join(base, 'old folder'))
      writeFileSync(join(base, 'old folder/deep'), 'deep')
      writeFileSync(join(base, '.hidden'), 'hidden')
      symlinkSync('old folder', join(base, 'link'))
      const { status, stdout, stderr } = inside(
        kind,
        'cd "$1/base" && ls -A && cat secrets/account/token .hidden link/deep && echo && readlink link && echo new > "old folder/new"',
      )
      expect([status, stderr]).toEqual([0, ''])
      expect(stdout).toBe('.hidden\nlink\nold folder\nsecrets\nabchiddendeep\nold folder\n')
      expect(readdirSync(base).toSorted()).toEqual(['.hidden', 'link', 'old folder'])
      expect(readdirSync(join(base, 'old folder')).toSorted()).toEqual(['deep', 'new'])
      expect(readdirSync(preparation.stage)).toEqual([])
    })

    it('shows them over a folder that exists', () => {
      mkdirSync(preparation.target, { recursive: true })
      writeFileSync(join(preparation.target, 'token'), 'of a pod')
      expect(inside(kind, 'cat "$1/base/secrets/account/token"')).toEqual({ status: 0, stdout: 'abc', stderr: '' })
    })

    it('shows a file that takes the place of another while the program runs', async () => {
      const script = 'cat "$1/base/secrets/account/token"; read -r _; cat "$1/base/secrets/account/token"'
      const [program = '', ...args] = namespaceCommand(kind, preparation, ['sh', '-c', script, 'x', folder])
      const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      let shown = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        shown += text
      })
      await once(child.stdout, 'data')
      await writeFileAtomically(join(preparation.files, 'token'), 'def')
      child.stdin.end('go on\n')
      expect(await once(child, 'close')).toEqual([0, null])
      expect(shown).toBe('abcdef')
    })

    it('follows a link on the way, as /var/run is one', () => {
      symlinkSync('base', join(folder, 'run'))
      const target = join(folder, 'run/secrets/account')
      expect(inside(kind, 'cat "$1/base/secrets/account/token"', { target }).stdout).toBe('abc')
    })

    it('binds sockets back, and works from a folder inside', async () => {
      const server = createServer((socket) => socket.end()).listen(join(folder, 'base/s'))
      const stage = join(folder, 'base/tmp/stage')
      mkdirSync(stage, { recursive: true })
      const { status, stdout, stderr } = inside(kind, 'cd "$1/base" && test -S s && ls', { stage })
      server.close()
      expect([status, stdout, stderr]).toEqual([0, 's\nsecrets\ntmp\n', ''])
    })

    it('hides a folder, and is left with the user and the path as they were', () => {
      const hidden = join(folder, 'home')
      const { stdout } = inside(kind, 'ls -A "$1/home"; id -u; id -g; echo "$PATH"', { hidden })
      expect(stdout).toBe(`${userId}\n${groupId}\n${process.env['PATH']}\n`)
      expect(readdirSync(hidden)).toEqual(['config'])
    })

    it.each([
      ['a link that leads nowhere', () => symlinkSync('/nonexistent/x', join(folder, 'base/secrets'))],
      ['a file', () => writeFileSync(join(folder, 'base/secrets'), '')],
    ])('says that %s is in the way, and runs nothing', (_, make) => {
      make()
      expect(inside(kind, 'echo ran')).toEqual({
        status: 1,
        stdout: '',
        stderr: `${join(folder, 'base/secrets')} is no folder\n`,
      })
    })
  })
}

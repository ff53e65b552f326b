/**
 * One folder, used from one container after the other, and from two at once: each has its own process ids and host name, as pods
 * have that share a volume.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endAll, makeWorkingDir } from './harness.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const unshare = ['--uts', '--pid', '--fork', '--kill-child', '--mount-proc']
// Making namespaces takes root, or a kernel that lets everybody; without either there is nothing to be seen here.
const canUnshare = spawnSync('unshare', [...unshare, 'hostname', 'pod']).status === 0

interface Pod {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  readonly stderr: () => string
  /** `ready`, or the exit code. */
  readonly outcome: Promise<number | 'ready' | null>
}

const pods: Pod[] = []
let folder: string
beforeEach(() => {
  folder = makeWorkingDir()
})
afterEach(async () => {
  await Promise.all(pods.splice(0).map(kill))
  await endAll()
})

function startPod(hostname: string): Pod {
  const flags = ['--data-dir', folder, '--storage', 'memory', '--secure-port', '0', '--health-address', '127.0.0.1:0']
  const inside = ['sh', '-c', 'hostname "$1" && shift && exec "$@"', 'pod', hostname]
  const child = spawn('unshare', [...unshare, ...inside, process.execPath, command, 'apiserver', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const outcome = new Promise<number | 'ready' | null>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.startsWith('ready')) resolve('ready')
    })
    child.once('close', resolve)
  })
  const pod = { child, stderr: () => stderr, outcome }
  pods.push(pod)
  return pod
}

async function kill({ child }: Pod): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

describe.skipIf(!canUnshare)('a folder that pods share', () => {
  it('is taken over from a pod that was killed, by one of another name', async () => {
    const first = startPod('pod-a')
    expect(await first.outcome, first.stderr()).toBe('ready')
    await kill(first)
    const second = startPod('pod-b')
    expect(await second.outcome, second.stderr()).toBe('ready')
  })

  it('is not taken from a pod that lives, though neither sees the other', async () => {
    const first = startPod('pod-a')
    expect(await first.outcome, first.stderr()).toBe('ready')
    const second = startPod('pod-b')
    expect(await second.outcome).toBe(1)
    expect(second.stderr()).toContain('it is in use by process ')
    // By the same name too, as a container that is started again beside one that was thought to be gone.
    const third = startPod('pod-a')
    expect(await third.outcome).toBe(1)
  })

  it('is taken over after the machine was started again, whatever it is called now', async () => {
    const first = startPod('pod-a')
    expect(await first.outcome, first.stderr()).toBe('ready')
    await kill(first)
    const lock = join(folder, 'apiserver.lock')
    const holder = JSON.parse(readFileSync(lock, 'utf8')) as { birth: string }
    writeFileSync(lock, JSON.stringify({ ...holder, birth: holder.birth.replace(/^[^/]+/, 'an-earlier-boot') }))
    const second = startPod('pod-b')
    expect(await second.outcome, second.stderr()).toBe('ready')
  })
})

/**
 * Tells whether a process that wrote its name down some time ago still runs. A process id alone does not: ids are used
 * again, most readily in containers, where a restarted program gets the very same one.
 */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

export interface ProcessIdentity {
  readonly pid: number
  readonly host: string
  /** Boot and start time as the kernel tells them; empty where it does not. */
  readonly birth: string
}

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, host: hostname(), birth: birthOf(process.pid) ?? '' }
}

/** `elsewhere`: written on a machine (or in a container) of another name, whose processes cannot be seen from here. */
export function judge(identity: ProcessIdentity): 'running' | 'gone' | 'elsewhere' {
  if (identity.host !== hostname()) return 'elsewhere'
  if (!isRunning(identity.pid)) return 'gone'
  const birth = birthOf(identity.pid)
  const known = birth !== undefined && identity.birth !== ''
  // Without a birth to compare, our own id still tells: we did not write that, so its writer is gone.
  if (!known) return identity.pid === process.pid ? 'gone' : 'running'
  return birth === identity.birth ? 'running' : 'gone'
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  return stateOf(pid)?.state !== 'Z'
}

function birthOf(pid: number): string | undefined {
  const start = stateOf(pid)?.startTicks
  const boot = readText('/proc/sys/kernel/random/boot_id')?.trim()
  return start === undefined || boot === undefined ? undefined : `${boot}/${start}`
}

/** From proc(5), stat: the state is field 3 and the start time field 22, counted after the name, which may hold anything. */
function stateOf(pid: number): { state: string | undefined; startTicks: string | undefined } | undefined {
  const stat = readText(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0], startTicks: fields[19] }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

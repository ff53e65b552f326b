/**
 * Tells whether a process that wrote its name down some time ago still runs. A process id alone does not: ids are used
 * again, most readily in containers, where a restarted program gets the very same one, and they mean nothing outside of their
 * pid namespace. Nor does the name of the host: every new pod has another one.
 *
 *   another boot      the writer died with its kernel, unless the folder may be in use by several machines at a time
 *   this boot         the socket that the writer listened on answers for as long as it lives, from every container
 *   ... no socket     process id and start time, within one pid namespace
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { askSocket } from './life-socket.ts'

export interface ProcessIdentity {
  readonly pid: number
  readonly host: string
  /** Boot and start time as the kernel tells them; empty where it does not. */
  readonly birth: string
  /** The pid namespace; absent where the kernel has none. */
  readonly pidNamespace?: string | undefined
  /** The path of the socket that the process listens on while it lives; absent where there is no room for one. */
  readonly socket?: string | undefined
}

/** What is true here and now, to compare with. */
export interface Surroundings {
  readonly host: string
  /** Empty where the kernel does not tell. */
  readonly boot: string
  readonly pidNamespace: string | undefined
  /** Whether the folder can be mounted on one machine only at a time. */
  readonly isLocalFolder: boolean
}

/**
 * `elsewhere`: written on another machine, or in a container whose processes cannot be seen from here, and nothing proves that
 * the writer is gone.
 */
export type Verdict = 'running' | 'gone' | 'elsewhere'

export function ownIdentity(): ProcessIdentity {
  const pidNamespace = ownPidNamespace()
  return {
    pid: process.pid,
    host: hostname(),
    birth: birthOf(process.pid) ?? '',
    pidNamespace,
  }
}

export function surroundings(isLocalFolder: boolean): Surroundings {
  return { host: hostname(), boot: ownBoot() ?? '', pidNamespace: ownPidNamespace(), isLocalFolder }
}

export async function judge(identity: ProcessIdentity, here: Surroundings): Promise<Verdict> {
  const boot = identity.birth.split('/', 1)[0] ?? ''
  const isSameHost = identity.host === here.host
  const areBootsKnown = boot !== '' && here.boot !== ''
  if (areBootsKnown && boot !== here.boot) return here.isLocalFolder || isSameHost ? 'gone' : 'elsewhere'
  if (!areBootsKnown && !isSameHost) return 'elsewhere'
  const answer = identity.socket === undefined ? 'unknown' : await askSocket(identity.socket)
  if (answer === 'alive') return 'running'
  if (answer === 'dead') return 'gone'
  const isSeen = identity.pidNamespace === here.pidNamespace || (identity.pidNamespace === undefined && isSameHost)
  return isSeen ? judgeByPid(identity) : 'elsewhere'
}

function judgeByPid(identity: ProcessIdentity): Verdict {
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
  const boot = ownBoot()
  return start === undefined || boot === undefined ? undefined : `${boot}/${start}`
}

function ownBoot(): string | undefined {
  return readText('/proc/sys/kernel/random/boot_id')?.trim()
}

function ownPidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return undefined
  }
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

/** The processes of containers, which outlive their containerd, and how they end when the power of a node goes. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Of the containerd that has its files in this folder. */
export async function killContainers(directory: string): Promise<void> {
  for (const pid of await processesOf(directory)) killIfThere(pid)
}

/** The processes that hold containers, and those in them: those that it started, and their children. */
async function processesOf(directory: string): Promise<number[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const holders = new Set<string>()
  for (const pid of all) {
    const args = await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => '')
    if (args.includes('containerd-shim') && args.includes(directory)) holders.add(pid)
  }
  const held: string[] = []
  for (const pid of all) {
    const stat = await readFile(join('/proc', pid, 'stat'), 'utf8').catch(() => '')
    const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]
    if (parent !== undefined && holders.has(parent)) held.push(pid)
  }
  return [...holders, ...held].map(Number)
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

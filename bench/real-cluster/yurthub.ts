/**
 * OpenYurt's hub as its users run it on an edge node, with what favours it: no filters, no interface of its own, and no
 * kubelet whose silence would take it for offline. Its HTTPS port speaks HTTP/1.1 only.
 */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts, peersDirectory } from '../../test/real/control-plane.ts'
import { endProcess, kept } from '../tunnel/processes.ts'
import { answering, kubeconfigText, type Restartable, type Way, type World } from './ways.ts'

export async function startYurtHub(world: World): Promise<Way> {
  return await (await yurtHub(world, 'yurt-1')).start()
}

export async function yurtHub(world: World, node: string): Promise<Restartable> {
  const program = join(peersDirectory(), 'yurthub')
  if (!existsSync(program)) throw new Error(`none in ${peersDirectory()}; \`npm run peers -- yurthub\` builds it`)
  const [securePort = 0, ...ports] = await freePorts(4)
  const flags = [...flagsOf(world, node, ports), `--proxy-secure-port=${securePort}`]
  const restart = (): Way => {
    const log = openSync(join(world.folder, `${node}.log`), 'a')
    const child = kept(spawn(program, flags, { cwd: world.folder, stdio: ['ignore', log, log] }))
    closeSync(log)
    const server = `https://127.0.0.1:${securePort}`
    return { name: 'yurthub', server, agent: [child], cloud: [], stop: () => endProcess(child) }
  }
  const start = async (): Promise<Way> => {
    const way = restart()
    await world.cluster.approveDuring(answering(way, world))
    return way
  }
  return { start, restart }
}

/** Where it keeps what components have read. */
export function cacheOf({ folder }: World, node: string): string {
  return join(folder, `${node}-cache`)
}

function flagsOf(world: World, node: string, [plain, admin, multiplexer]: readonly number[]): string[] {
  const { plane } = world.cluster
  const bootstrap = join(world.folder, `${node}-bootstrap.conf`)
  writeFileSync(bootstrap, kubeconfigText(plane, plane.adminToken))
  return [
    `--node-name=${node}`,
    '--nodepool-name=bench',
    '--node-ip=127.0.0.1',
    `--server-addr=${plane.server}`,
    `--bootstrap-file=${bootstrap}`,
    `--root-dir=${world.folder}/${node}`,
    `--disk-cache-path=${cacheOf(world, node)}`,
    `--proxy-port=${plain}`,
    `--serve-port=${admin}`,
    `--multiplexer-port=${multiplexer}`,
    '--enable-dummy-if=false',
    '--enable-resource-filter=false',
    '--kubelet-health-grace-period=24h',
  ]
}

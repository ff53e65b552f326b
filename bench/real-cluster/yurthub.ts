/**
 * OpenYurt's hub as its users run it on an edge node, with what favours it: no filters, no interface of its own, and no
 * kubelet whose silence would take it for offline. Its HTTPS port speaks HTTP/1.1 only.
 */
import { spawn } from 'node:child_process'
import { existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts, peersDirectory } from '../../test/real/control-plane.ts'
import { endProcess } from '../tunnel/processes.ts'
import { answering, kubeconfigText, type Way, type World } from './ways.ts'

export async function startYurtHub(world: World): Promise<Way> {
  const program = join(peersDirectory(), 'yurthub')
  if (!existsSync(program)) throw new Error(`none in ${peersDirectory()}; \`npm run peers -- yurthub\` builds it`)
  const { folder, cluster } = world
  const bootstrap = join(folder, 'yurthub-bootstrap.conf')
  writeFileSync(bootstrap, kubeconfigText(cluster.plane, cluster.plane.adminToken))
  const [secure = 0, plain, admin, multiplexer] = await freePorts(4)
  const log = openSync(join(folder, 'yurthub.log'), 'a')
  const flags = [
    '--node-name=yurt-1',
    '--nodepool-name=bench',
    '--node-ip=127.0.0.1',
    `--server-addr=${cluster.plane.server}`,
    `--bootstrap-file=${bootstrap}`,
    `--root-dir=${folder}/yurthub`,
    `--disk-cache-path=${folder}/yurthub-cache`,
    `--proxy-secure-port=${secure}`,
    `--proxy-port=${plain}`,
    `--serve-port=${admin}`,
    `--multiplexer-port=${multiplexer}`,
    '--enable-dummy-if=false',
    '--enable-resource-filter=false',
    '--kubelet-health-grace-period=24h',
  ]
  const child = spawn(program, flags, { cwd: folder, stdio: ['ignore', log, log] })
  process.once('exit', () => child.kill('SIGKILL'))
  const server = `https://127.0.0.1:${secure}`
  const way: Way = { name: 'yurthub', server, agent: [child], cloud: [], stop: () => endProcess(child) }
  await cluster.approveDuring(answering(way, world))
  return way
}

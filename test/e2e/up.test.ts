import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { lastingPort } from '../lasting-port.ts'
import { removeFolder } from '../remove-folder.ts'
import { endAll, type Launched, launch, makeWorkingDir, patience, run } from './harness.ts'

const EPHEMERAL = [
  '--health-address',
  '127.0.0.1:0',
  '--secure-port',
  '0',
  '--hub-port',
  '0',
  '--edge-port',
  '0',
  '--endpoint-port',
  '0',
]

let workingDir: string
const sockets: Socket[] = []

beforeEach(() => {
  workingDir = makeWorkingDir()
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await endAll()
})

function up(...flags: string[]): Launched {
  return launch(['up', ...EPHEMERAL, ...flags], { workingDir })
}

function locks(): string[] {
  return readdirSync(join(workingDir, '.causeway')).filter((name) => name.includes('.lock'))
}

async function get(url: string) {
  const response = await fetch(url)
  return { status: response.status, body: await response.text() }
}

/** The ready screen waits for the endpoint only for a while. */
async function isReady(url: string): Promise<void> {
  await vi.waitFor(async () => expect(await get(`${url}/readyz`)).toEqual({ status: 200, body: 'ok' }), patience)
}

/** Asks for far more than the sockets can hold and reads none of it: the answers stay under way. */
async function stuckReader(url: string): Promise<void> {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(5_000))
  await once(socket, 'readable')
}

describe('causeway up, serving', () => {
  it('prints the ready screen and serves health and metrics', async () => {
    const process = up()
    const url = await process.ready()
    expect(process.stdout).toMatch(/^ready {2}causeway \d+\.\d+\.\d+\n/)
    expect(process.stdout).toContain(join(workingDir, '.causeway'))
    expect(await get(`${url}/healthz`)).toEqual({ status: 200, body: 'ok' })
    await isReady(url)
    expect((await get(`${url}/readyz?verbose`)).body).toBe(
      '[+]ping ok\n[+]lifecycle ok\n[+]data-dir ok\n[+]edge-1 ok\n[+]edge-1-endpoint ok\nreadyz check passed\n',
    )
    const { status, body } = await get(`${url}/metrics`)
    expect(status).toBe(200)
    expect(body).toMatch(/^causeway_build_info\{role="up",version="[^"]+",node_version="[^"]+"\} 1$/m)
    expect((await get(`${url}/nothing`)).status).toBe(404)
  })

  it('keeps its data folder to its owner', async () => {
    await up('--data-dir', 'deep/data').ready()
    expect(statSync(join(workingDir, 'deep/data')).mode & 0o777).toBe(0o700)
    expect(statSync(join(workingDir, 'deep/data/up.lock')).mode & 0o777).toBe(0o600)
    expect(existsSync(join(workingDir, '.causeway'))).toBe(false)
  })

  it('stays alive and turns unready, with the reason, when its data folder is cleared', async () => {
    const url = await up().ready()
    // Something may be written there in the very moment.
    removeFolder(join(workingDir, '.causeway'))
    expect((await get(`${url}/healthz`)).status).toBe(200)
    const { status, body } = await get(`${url}/readyz`)
    expect(status).toBe(500)
    expect(body).toMatch(/^\[-\]data-dir failed: .*up\.lock is gone or was replaced$/m)
  })

  it('takes settings from the environment and a file', async () => {
    writeFileSync(
      join(workingDir, 'up.yaml'),
      'dataDir: from-file\nhealthAddress: 127.0.0.1:0\nsecurePort: 0\nhubPort: 0\nedgePort: 0\nendpointPort: 0\nlogLevel: fatal\n',
    )
    const environment = { CAUSEWAY_UP_CONFIG: 'up.yaml', CAUSEWAY_UP_LOG_LEVEL: 'debug' }
    const process = launch(['up'], { workingDir, environment })
    await process.ready()
    expect(process.stdout).toContain(join(workingDir, 'from-file'))
    process.kill('SIGTERM')
    await process.exited
    expect(process.log.map(({ level }) => level)).toContain('debug')
  })

  it('goes on serving when nobody reads its output any more', async () => {
    const process = up()
    process.closeOutputs('stdout')
    await process.logged('"msg":"ready"')
    process.closeOutputs('stderr')
    process.kill('SIGTERM')
    expect(await process.exited).toEqual({ code: 0, signal: null })
  })
})

describe('causeway up, stopping', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends in order with exit code 0 at %s', async (signal) => {
    // Nobody else answers there afterwards.
    const process = up('--log-level', 'debug', '--health-address', `127.0.0.1:${await lastingPort()}`)
    const url = await process.ready()
    await get(`${url}/healthz`)
    process.kill(signal)
    expect(await process.exited).toEqual({ code: 0, signal: null })
    const ofUp = process.log.filter(({ component }) => component === 'up')
    expect(ofUp.map(({ msg, part }) => (typeof part === 'string' ? `${msg}: ${part}` : msg))).toEqual([
      'ready',
      'stopping; a second signal ends the process at once',
      'part stopped: control socket',
      'part stopped: edge-1',
      'part stopped: hub',
      'part stopped: apiserver',
      'part stopped: health',
      'part stopped: data-dir',
      'stopped',
    ])
    expect(locks()).toEqual([])
    await expect(get(`${url}/healthz`)).rejects.toThrow('fetch failed')
  })

  it('waits for answers under way, and ends at once at a second signal', async () => {
    const process = up('--drain-timeout', '1h')
    await stuckReader(await process.ready())
    process.kill('SIGTERM')
    await process.logged('stopping')
    process.kill('SIGINT')
    expect(await process.exited).toEqual({ code: 130, signal: null })
    expect(process.stderr).not.toContain('"stopped"')
    await up().ready()
  })

  it('drops answers under way at the drain limit, which is still a clean end', async () => {
    const process = up('--drain-timeout', '50ms')
    await stuckReader(await process.ready())
    process.kill('SIGTERM')
    expect(await process.exited).toEqual({ code: 0, signal: null })
    expect(process.log.map(({ msg }) => msg)).toContain('drain limit reached, dropping what is still under way')
  })
})

describe('causeway up, one at a time', () => {
  it('refuses a data folder in use, naming the process that uses it', async () => {
    const first = up()
    const url = await first.ready()
    const second = await run(['up', ...EPHEMERAL], { workingDir })
    expect([second.code, second.stdout]).toEqual([1, ''])
    expect(second.log().at(-1)).toMatchObject({
      level: 'fatal',
      msg: expect.stringMatching(
        `^cannot use the data folder ${join(workingDir, '.causeway')}: it is in use by process ${first.pid}; stop that`,
      ),
    })
    await isReady(url)
  })

  it('starts again after kill -9', async () => {
    const first = up()
    await first.ready()
    first.kill('SIGKILL')
    expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect(locks()).toEqual(['up.lock'])
    const url = await up().ready()
    await isReady(url)
    expect(locks()).toEqual(['up.lock'])
  })

  it('makes a join token only for an edge that has to join', async () => {
    for (const edges of ['1', '1', '2']) {
      const process = up('--edges', edges)
      await process.ready()
      process.kill('SIGTERM')
      await process.exited
    }
    await up('--edges', '2').ready()
    const kubeconfig = ['--kubeconfig', '.causeway/admin.kubeconfig']
    const { stdout } = await run(['token', 'list', '-o', 'json', ...kubeconfig], { workingDir })
    const tokens = JSON.parse(stdout) as { node: string; state: string }[]
    const ofEdges = tokens.filter(({ node }) => node.startsWith('edge-')).map(({ node, state }) => `${node} ${state}`)
    expect(ofEdges.toSorted()).toEqual(['edge-1 used up', 'edge-2 used up'])
  })

  it('lets exactly one of several that start together succeed a dead one', async () => {
    const dead = up()
    await dead.ready()
    dead.kill('SIGKILL')
    await dead.exited
    const rivals = Array.from({ length: 4 }, () => up())
    const outcomes = await Promise.all(
      rivals.map((rival) =>
        rival.ready().then(
          () => 'ready',
          () => 'refused',
        ),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'ready')).toHaveLength(1)
    for (const [index, rival] of rivals.entries()) {
      if (outcomes[index] === 'refused') expect(rival.stderr).toContain('it is in use by process')
    }
  })
})

describe('causeway up, refusing to start', () => {
  it('says which port is taken and how to choose another, and lets go of the data folder', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const { port } = holder.address() as AddressInfo
    const { code, stdout, log } = await run(['up', ...EPHEMERAL, '--health-address', `127.0.0.1:${port}`], {
      workingDir,
    })
    holder.close()
    expect([code, stdout]).toEqual([1, ''])
    expect(log().at(-1)).toMatchObject({
      level: 'fatal',
      msg: `cannot listen on 127.0.0.1:${port}: another process already listens there; choose another address with --health-address or CAUSEWAY_UP_HEALTH_ADDRESS`,
    })
    expect(locks()).toEqual([])
  })

  it('says why a data folder cannot be used', async () => {
    writeFileSync(join(workingDir, 'file'), '')
    const { code, log } = await run(['up', ...EPHEMERAL, '--data-dir', 'file/data'], { workingDir })
    expect(code).toBe(1)
    expect(log().at(-1)?.msg).toBe(
      `cannot use the data folder ${join(workingDir, 'file/data')}: a part of the path is a file`,
    )
  })

  it.each([
    ['/proc/causeway', ''],
    ['linked', 'is a link, not a file; remove it'],
  ])('does not try for ever to use %s', async (dataDir, reason) => {
    mkdirSync(join(workingDir, 'linked'), { mode: 0o700 })
    symlinkSync('/nonexistent/x', join(workingDir, 'linked/up.lock'))
    const { code, log } = await run(['up', ...EPHEMERAL, '--data-dir', dataDir], { workingDir })
    expect(code).toBe(1)
    expect(log().at(-1)?.msg).toMatch(new RegExp(`^cannot use the data folder .*${dataDir}: .*${reason}$`))
  })

  it('reports everything wrong with its configuration with exit code 2, and does nothing', async () => {
    writeFileSync(join(workingDir, 'up.yaml'), 'healthAdress: 127.0.0.1:0\ndrainTimeout: 10\n')
    const environment = { CAUSEWAY_UP_LOG_LEVEL: 'loud' }
    const { code, stdout, stderr } = await run(['up', '--config', 'up.yaml'], { workingDir, environment })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.split('\n')).toEqual([
      'error: the configuration of "causeway up" has 3 problems',
      '  up.yaml:1: unknown key "healthAdress"; did you mean "healthAddress"?',
      '  up.yaml:2: drainTimeout: expected a duration such as 500ms, 10s or 1m30s, got the number 10',
      '  CAUSEWAY_UP_LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, got "loud"',
      '',
    ])
    expect(readdirSync(workingDir)).toEqual(['up.yaml'])
  })
})

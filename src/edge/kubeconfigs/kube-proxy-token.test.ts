import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UnsecuredJWT } from 'jose'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { diskOperations } from '../../runtime/files/file-operations.ts'
import { createLogger } from '../../telemetry/logger.ts'
import type { KubeProxyToken } from '../hub/hub-client.ts'
import { HubError, networkError } from '../hub/hub-error.ts'
import { KubeProxyTokenKeeper, type KubeProxyTokenOptions } from './kube-proxy-token.ts'
import { MIN_TOKEN_REFRESH_MS } from './token-life.ts'
import { createTokenMetrics } from './token-metrics.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
let folder: string
let file: string
let clock: ManualClock
let registry: Registry
let log: string
let asked: number
let answer: () => KubeProxyToken | Promise<KubeProxyToken>
const running: RunningPart[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-token-'))
  file = join(folder, 'kube-proxy.token')
  clock = new ManualClock()
  registry = new Registry()
  log = ''
  asked = 0
  answer = () => made()
})
afterEach(async () => {
  for (const part of running.splice(0)) await part.stop(AbortSignal.abort())
  expect(clock.pending).toBe(0)
  removeFolder(folder)
})

function made(issuedAtMs = clock.nowMs(), lifeMs = dayMs, namespace = 'causeway-system'): KubeProxyToken {
  const token = new UnsecuredJWT({
    sub: `system:serviceaccount:${namespace}:kube-proxy`,
    iat: issuedAtMs / 1000,
    exp: (issuedAtMs + lifeMs) / 1000,
    jti: `${asked}`,
  }).encode()
  return { token, expires: new Date(issuedAtMs + lifeMs).toISOString() }
}

async function start(options: Partial<KubeProxyTokenOptions> = {}): Promise<KubeProxyTokenKeeper> {
  const keeper = new KubeProxyTokenKeeper({
    file,
    client: {
      kubeProxyToken: async () => {
        asked++
        return await answer()
      },
    },
    clock,
    random: () => 0.5,
    logger: createLogger({ level: 'debug', format: 'json', clock, destination: { write: (line) => (log += line) } }),
    metrics: createTokenMetrics(registry),
    ...options,
  })
  running.push(await keeper.start())
  return keeper
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
}

async function metric(name: string): Promise<number | undefined> {
  const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {}
  return values[0]?.value
}

describe('the token of kube-proxy', () => {
  it('is asked for if there is none, and written without a newline for its owner alone', async () => {
    const keeper = await start()
    const reason = `there is no token of kube-proxy in ${file}: it is being asked for`
    expect(keeper.health()).toEqual({ ok: false, reason })
    await until(() => keeper.health().ok)
    expect(readFileSync(file, 'utf8')).toMatch(/^[\w-]+\.[\w-]+\.$/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const endsMs = clock.nowMs() + dayMs
    expect(keeper.status).toEqual({ file, ends: new Date(endsMs).toISOString() })
    expect(await metric('causeway_edge_kube_proxy_token_expiry_timestamp_seconds')).toBe(endsMs / 1000)
    expect(log).not.toContain(readFileSync(file, 'utf8'))
  })

  it('is renewed at half its life, over a restart too', async () => {
    writeFileSync(file, made().token)
    const first = readFileSync(file, 'utf8')
    await clock.advance(11 * hourMs)
    const keeper = await start()
    expect(keeper.health().ok).toBe(true)
    await clock.advance(hourMs - 1)
    expect(asked).toBe(0)
    await clock.advance(1)
    await until(() => readFileSync(file, 'utf8') !== first)
    await until(() => log.includes('token of kube-proxy renewed'))
    expect(asked).toBe(1)
    await clock.advance(12 * hourMs - 1)
    expect(asked).toBe(1)
    await clock.advance(1)
    await until(() => asked === 2)
  })

  it('stays while it is good and no hub gives another, and the reason shows', async () => {
    const issuedMs = clock.nowMs()
    const { token } = made()
    writeFileSync(file, token)
    await clock.advance(13 * hourMs)
    answer = () => Promise.reject(networkError('refused', 'nobody listens there'))
    const keeper = await start()
    await until(() => keeper.status.problem !== undefined)
    expect(keeper.status.problem).toContain('nobody listens there')
    expect(keeper.health().ok).toBe(true)
    expect(readFileSync(file, 'utf8')).toBe(token)
    await clock.advance(12 * hourMs)
    const ended = new Date(issuedMs + dayMs).toISOString()
    expect(keeper.health()).toEqual({
      ok: false,
      reason: expect.stringContaining(`the token of kube-proxy in ${file} has ended at ${ended}: `),
    })
    expect(keeper.health()).toEqual({ ok: false, reason: expect.stringContaining('nobody listens there') })
    expect(readFileSync(file, 'utf8')).toBe(token)
    answer = () => made()
    await clock.advance(300_000)
    await until(() => keeper.health().ok)
    expect(keeper.status.problem).toBeUndefined()
  })

  it('is asked for as seldom as the hub wants, in words that say what is missing', async () => {
    const refusal = { retryable: true, retryAfterMs: 60_000 }
    answer = () => Promise.reject(new HubError('refusal', 'hub-lacks-rights', 'apply deploy/hub-rbac.yaml', refusal))
    const keeper = await start()
    await until(() => keeper.status.problem !== undefined)
    const reason = `there is no token of kube-proxy in ${file}: apply deploy/hub-rbac.yaml`
    expect(keeper.health()).toEqual({ ok: false, reason })
    await clock.advance(59_999)
    expect(asked).toBe(1)
    await clock.advance(1)
    expect(asked).toBe(2)
  })

  it('is not asked for in a circle where the clock is wrong or the token says nothing', async () => {
    answer = () => made(clock.nowMs() - 30 * dayMs)
    const keeper = await start()
    await until(() => keeper.status.ends !== undefined)
    expect(keeper.health().ok).toBe(false)
    await clock.advance(12 * hourMs - 1)
    expect(asked).toBe(1)
    answer = () => ({ token: 'opaque', expires: new Date(clock.nowMs() + hourMs).toISOString() })
    await clock.advance(1)
    await until(() => readFileSync(file, 'utf8') === 'opaque')
    await until(() => keeper.health().ok)
    await clock.advance(hourMs / 2 - 1)
    expect(asked).toBe(2)
    await clock.advance(1)
    expect(asked).toBe(3)
  })

  it('says where the hub keeps its account, found on disk or new', async () => {
    writeFileSync(file, made(clock.nowMs(), dayMs, 'edges').token)
    const keeper = await start()
    expect(keeper.namespace).toBe('edges')
    answer = () => made(clock.nowMs(), dayMs, 'moved')
    await clock.advance(12 * hourMs)
    await until(() => keeper.namespace === 'moved')
    expect(asked).toBe(1)
  })

  it('stays the old one until the new one is on disk', async () => {
    const { token } = made()
    writeFileSync(file, token)
    await clock.advance(13 * hourMs)
    const files = { ...diskOperations, rename: () => Promise.reject(new Error('the disk is gone')) }
    const keeper = await start({ files })
    await until(() => keeper.status.problem !== undefined)
    expect(keeper.status.problem).toContain('the disk is gone')
    expect(readFileSync(file, 'utf8')).toBe(token)
  })

  it('is missing where it cannot be written, which health says', async () => {
    const files = { ...diskOperations, rename: () => Promise.reject(new Error('the disk is gone')) }
    const keeper = await start({ files })
    await until(() => keeper.status.problem !== undefined)
    expect(keeper.health()).toEqual({
      ok: false,
      reason: expect.stringMatching(/^there is no token of kube-proxy in .*kube-proxy\.token: .*the disk is gone/),
    })
  })

  it('asks at once for another when the API server refuses the one on disk, and only for that one', async () => {
    const first = made().token
    writeFileSync(file, first)
    const keeper = await start()
    keeper.rejected(hash('sha256', 'of somebody else'))
    await new Promise(setImmediate)
    expect(asked).toBe(0)
    expect(keeper.health().ok).toBe(true)
    keeper.rejected(hash('sha256', first))
    expect(keeper.health().ok).toBe(false)
    expect(keeper.status.problem).toContain('refuses the token')
    await until(() => asked === 1 && keeper.health().ok)
    expect(readFileSync(file, 'utf8')).not.toBe(first)
    expect(keeper.status.problem).toBeUndefined()
  })

  it('does not ask without end for tokens that are all refused', async () => {
    const keeper = await start()
    await until(() => clock.pending === 1)
    keeper.rejected(hash('sha256', readFileSync(file, 'utf8')))
    await new Promise(setImmediate)
    await until(() => clock.pending === 1)
    expect(asked).toBe(1)
    await clock.advance(MIN_TOKEN_REFRESH_MS)
    await until(() => asked === 2 && keeper.health().ok)
  })

  it('replaces the token of another cluster at once, and keeps that of this one', async () => {
    await start({ kubernetesCaSha256: 'one' })
    await until(() => clock.pending === 1)
    await running.pop()?.stop(AbortSignal.abort())
    registry = new Registry()
    await start({ kubernetesCaSha256: 'one' })
    await until(() => clock.pending === 1)
    expect(asked).toBe(1)
    await running.pop()?.stop(AbortSignal.abort())
    registry = new Registry()
    const moved = await start({ kubernetesCaSha256: 'two' })
    await until(() => asked === 2 && moved.health().ok)
  })
})

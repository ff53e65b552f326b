/** An endpoint as an edge composes it, on a machine that lacks the address for pods because nobody has added it yet. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { composeEndpoint, type EdgeEndpoint } from '../../../src/edge/compose-endpoint.ts'
import type { HubClient } from '../../../src/edge/hub/hub-client.ts'
import type { EdgeLinks } from '../../../src/edge/link/edge-links.ts'
import type { RunningPart } from '../../../src/process/lifecycle.ts'
import { startInOrder } from '../../../src/process/part-group.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { createCa, NODE } from '../../worlds/endpoint-world.ts'
import { loudNet } from '../../worlds/loud-net.ts'
import { SigningHub } from '../../worlds/signing-hub.ts'

const missing = '203.0.113.7'
let dataDir: string
let running: RunningPart | undefined
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'causeway-compose-'))
})
afterEach(async () => {
  await running?.stop(AbortSignal.abort())
  removeFolder(dataDir)
})

const noLink = (): Promise<never> => Promise.reject(new Error('no link'))

async function start(): Promise<EdgeEndpoint> {
  const ca = await createCa('kubernetes')
  const hub = new SigningHub(systemClock, ca)
  hub.lifeMs = 3_600_000
  hub.ipAddresses = ['127.0.0.1', missing]
  const endpoint = await composeEndpoint({
    net: loudNet(),
    settings: {
      port: 0,
      loopback: '127.0.0.1',
      addresses: [missing],
      writeKubeconfigs: false,
      nat: false,
      filters: { disabled: [] },
    },
    node: NODE,
    dataDir,
    cluster: { apiServerName: 'kubernetes', kubernetesCa: [ca.certificate], kubernetesCaFile: join(dataDir, 'ca.crt') },
    client: hub as unknown as HubClient,
    links: {
      open: noLink,
      rttMs: 1,
      isUp: false,
      whyDown: 'no link',
      onChange: () => () => {},
    } as unknown as EdgeLinks,
    rejoinAdvice: 'join again',
    clock: systemClock,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    keeperMetrics: { expires: () => {}, rotation: () => {}, goodOffline: () => {} },
  })
  running = await startInOrder(endpoint.parts, new AbortController().signal, (cause) => expect(cause).toBeUndefined())
  return endpoint
}

it('serves loopback, is well, and goes on to ask for the address', async () => {
  const endpoint = await start()
  await expect.poll(() => endpoint.status()?.health).toEqual({ ok: true })
  await expect
    .poll(() => endpoint.status())
    .toMatchObject({ addresses: ['127.0.0.1'], problems: [expect.stringContaining(`${missing}:`)] })
  expect(endpoint.status()?.problems[0]).toContain('does not have that address')
})

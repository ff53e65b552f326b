import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  type Fate,
  type OwnApiServer,
  startOwnApiServer,
  UnreliableTransport,
} from '../../../test/worlds/own-api-server.ts'
import { configMaps, namespaces } from '../../kube/client/kinds.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { Refusal } from '../refusal.ts'
import { claimName } from '../shared/names.ts'
import type { Claim } from './claim.ts'
import { ClaimStore } from './claim-store.ts'

const node = 'edge-1'
const [keyA, keyB, keyC] = ['aa', 'bb', 'cc'].map((text) => text.repeat(32)) as [string, string, string]
let caKey = 'ca'.repeat(32)
const logger = pino({ level: 'silent' })

let server: OwnApiServer
let namespace: string
let count = 0
beforeAll(async () => {
  server = await startOwnApiServer()
})
afterAll(async () => {
  await server.stop()
})
beforeEach(async () => {
  namespace = `claims-${++count}`
  await server
    .client()
    .resource(namespaces)
    .create({ metadata: { name: namespace } })
})

interface Hub {
  readonly claims: ClaimStore
  readonly transport: UnreliableTransport
  readonly changes: [string, Claim | undefined][]
  /** Resolves once the hub knows such a claim. */
  knows(test: (claim: Claim | undefined) => boolean): Promise<void>
}

function hub(fateOf: (index: number, path: string) => Fate = () => 'pass', clock = systemClock): Hub {
  const transport = new UnreliableTransport(server.connection, (index, { path }) => fateOf(index, path))
  const client = server.client(transport)
  const issuer = (): string => caKey
  const claims = new ClaimStore({ client, namespace, clock, random: systemRandom, logger, issuer })
  const changes: [string, Claim | undefined][] = []
  const waiting = new Set<() => void>()
  claims.onChange((name, claim) => {
    changes.push([name, claim])
    for (const look of waiting) look()
  })
  const knows = (test: (claim: Claim | undefined) => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!test(claims.known(node))) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return { claims, transport, changes, knows }
}

async function watching<T>(hubs: Hub[], work: () => Promise<T>): Promise<T> {
  const running: RunningPart[] = []
  for (const { claims } of hubs) running.push(await claims.start(new AbortController().signal))
  try {
    return await work()
  } finally {
    for (const part of running) await part.stop(AbortSignal.abort())
  }
}

const endsMs = Date.UTC(2030, 0, 1)
const joining = (key: string, namesNode = false, nodeExists = false) => ({
  node,
  key,
  token: { id: 't1', namesNode },
  nodeExists,
  certificateEndsMs: endsMs,
})
const certificate = (key: string, notBeforeMs = 0) => ({ node, key, notBeforeMs })
const isHeldBy = (key: string) => (claim: Claim | undefined) => claim?.state === 'held' && claim.current === key

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error === undefined) return 'allowed'
  expect(error).toBeInstanceOf(Refusal)
  return (error as Refusal).code
}

describe('claims in the cluster', () => {
  it('are shared by hubs that have never heard of each other', async () => {
    const [one, two] = [hub(), hub()]
    await expect(one.claims.byToken(joining(keyA))).resolves.toMatchObject({ current: keyA, tokenId: 't1' })
    expect(await codeOf(two.claims.byToken(joining(keyB)))).toBe('name-taken')
    await expect(two.claims.byRotation(node, keyA, keyB, endsMs)).resolves.toMatchObject({ current: keyA, next: keyB })
    await expect(one.claims.byCertificate(certificate(keyB))).resolves.toMatchObject({ current: keyB })
    expect(await codeOf(two.claims.byCertificate(certificate(keyA)))).toBe('certificate-revoked')
    expect(await codeOf(two.claims.byRotation(node, keyA, keyC, endsMs))).toBe('certificate-revoked')
  })

  it('go to one of many that ask at the same instant', async () => {
    const hubs = Array.from({ length: 5 }, () => hub())
    const keys = Array.from({ length: 20 }, (_, index) => index.toString(16).padStart(2, '0').repeat(32))
    const results = await Promise.all(
      keys.map((key, index) => codeOf((hubs[index % hubs.length] as Hub).claims.byToken(joining(key)))),
    )
    expect(results.toSorted()).toEqual(['allowed', ...keys.slice(1).map(() => 'name-taken')])
    const winner = keys[results.indexOf('allowed')] ?? ''
    expect(await codeOf((hubs[0] as Hub).claims.byCertificate(certificate(winner)))).toBe('allowed')
  })

  it('end in one state when many tokens for the node race', async () => {
    const hubs = Array.from({ length: 5 }, () => hub())
    const keys = Array.from({ length: 15 }, (_, index) => index.toString(16).padStart(2, '0').repeat(32))
    await Promise.all(keys.map((key, index) => (hubs[index % 5] as Hub).claims.byToken(joining(key, true))))
    const verdicts = await Promise.all(
      keys.map((key) => codeOf((hubs[0] as Hub).claims.byCertificate(certificate(key)))),
    )
    expect(verdicts.filter((verdict) => verdict === 'allowed')).toHaveLength(1)
  })

  it('let the name of a foreign Node go to its own token only', async () => {
    const { claims } = hub()
    expect(await codeOf(claims.byToken(joining(keyA, false, true)))).toBe('node-exists')
    expect(await codeOf(claims.byToken(joining(keyA, true, true)))).toBe('allowed')
  })

  it('are asked nothing for what is known and stays as it is', async () => {
    const one = hub()
    await watching([one], async () => {
      await one.claims.byToken(joining(keyA))
      await one.knows(isHeldBy(keyA))
      // The watch is asked for again every few seconds, whatever happens here.
      const asked = (): string[] => one.transport.asked.filter((line) => line.includes(claimName(node)))
      const before = asked()
      for (let times = 0; times < 100; times++) await one.claims.byCertificate(certificate(keyA))
      expect(asked()).toEqual(before)
    })
  })

  it('are read afresh before anything is refused or changed, so that an old view hurts nobody', async () => {
    const [writer, old] = [hub(), hub()]
    await writer.claims.byToken(joining(keyA))
    const running = await old.claims.start(new AbortController().signal)
    await running.stop(AbortSignal.abort())
    expect(old.claims.known(node)).toMatchObject({ current: keyA })
    await writer.claims.byRotation(node, keyA, keyB, endsMs)
    // The old view knows nothing of B and would refuse it.
    await expect(old.claims.byCertificate(certificate(keyB))).resolves.toMatchObject({ current: keyB })
    await writer.claims.byToken(joining(keyC, true))
    expect(await codeOf(old.claims.byCertificate(certificate(keyB)))).toBe('certificate-revoked')
    await expect(old.claims.byCertificate(certificate(keyC))).resolves.toMatchObject({ current: keyC })
  })

  it('tell every hub of a change, whichever made it', async () => {
    const [one, two] = [hub(), hub()]
    await watching([one, two], async () => {
      await one.claims.byToken(joining(keyA))
      await two.knows(isHeldBy(keyA))
      await one.claims.forget(node)
      await two.knows((claim) => claim?.state === 'released')
      await two.claims.byToken(joining(keyB))
      await one.knows(isHeldBy(keyB))
      expect(one.changes.map(([name]) => name)).toEqual([node, node, node])
    })
  })

  it('tell of changes that were missed while the watch was down', async () => {
    let isDown = false
    const [one, two] = [hub(), hub(() => (isDown ? 'lost-request' : 'pass'))]
    await watching([two], async () => {
      await one.claims.byToken(joining(keyA))
      await two.knows(isHeldBy(keyA))
      isDown = true
      two.transport.breakOff()
      await one.claims.forget(node)
      isDown = false
      await two.knows((claim) => claim?.state === 'released')
    })
    expect(two.changes.map(([, claim]) => claim?.state)).toEqual(['held', 'released'])
  })

  it('record the end of the latest certificate', async () => {
    const { claims } = hub()
    await claims.byToken(joining(keyA))
    expect((await claims.list()).claims).toMatchObject([{ node, current: keyA, certificateEndsMs: endsMs }])
    await claims.byToken({ ...joining(keyA), certificateEndsMs: endsMs + 1_000 })
    await claims.byRotation(node, keyA, keyB, endsMs + 2_000)
    expect((await claims.list()).claims).toMatchObject([{ current: keyA, certificateEndsMs: endsMs + 2_000 }])
  })

  it('record which CA signed it', async () => {
    const { claims } = hub()
    const before = caKey
    await claims.byToken(joining(keyA))
    expect((await claims.list()).claims).toMatchObject([{ issuer: before }])
    caKey = 'cb'.repeat(32)
    await claims.byCertificate({ ...certificate(keyA), issuer: caKey })
    expect((await claims.list()).claims).toMatchObject([{ issuer: before }])
    await claims.byRotation(node, keyA, keyB, endsMs)
    expect((await claims.list()).claims).toMatchObject([{ issuer: caKey }])
  })

  it('cost one request where nobody has the name', async () => {
    const { claims, transport } = hub()
    await claims.byToken(joining(keyA))
    expect(transport.asked).toHaveLength(1)
  })
})

describe('forgetting a node', () => {
  it('ends its certificates and lets the name go to another', async () => {
    const { claims } = hub()
    await claims.byToken(joining(keyA))
    const issuedMs = systemClock.nowMs() - 1_000
    await expect(claims.forget(node)).resolves.toBe(true)
    expect(await codeOf(claims.byCertificate(certificate(keyA, issuedMs)))).toBe('certificate-revoked')
    expect(await codeOf(claims.byRotation(node, keyA, keyB, endsMs))).toBe('certificate-revoked')
    expect(await codeOf(claims.byToken(joining(keyC)))).toBe('allowed')
    expect(await codeOf(claims.byCertificate(certificate(keyA)))).toBe('certificate-revoked')
  })

  it('works on all hubs with a stolen certificate, also when the record of it was lost', async () => {
    const { claims } = hub()
    await expect(claims.forget(node)).resolves.toBe(false)
    expect(await codeOf(hub().claims.byCertificate(certificate(keyA)))).toBe('certificate-revoked')
    await expect(claims.forget(node)).resolves.toBe(false)
  })

  it('stays so when the clock of the hub that issued the certificate is ahead', async () => {
    const { claims } = hub()
    await claims.byToken(joining(keyA))
    await claims.byRotation(node, keyA, keyB, endsMs)
    await claims.forget(node)
    const ahead = systemClock.nowMs() + 3_600_000
    for (const key of [keyA, keyB])
      expect(await codeOf(hub().claims.byCertificate(certificate(key, ahead)))).toBe('certificate-revoked')
    await claims.byToken(joining(keyC))
    await claims.forget(node)
    for (const key of [keyA, keyB, keyC])
      expect(await codeOf(hub().claims.byCertificate(certificate(key, ahead)))).toBe('certificate-revoked')
  })

  it('counts by the time of the cluster, not by that of the operator', async () => {
    const laptop = hub(undefined, new ManualClock(Date.UTC(2020, 0, 1)))
    // The cluster tells whole seconds.
    const issuedMs = systemClock.nowMs() - 1_000
    await laptop.claims.forget(node)
    expect(await codeOf(hub().claims.byCertificate(certificate(keyA, issuedMs)))).toBe('certificate-revoked')
  })

  it('leaves a mark until no certificate from before can be alive, and then none', async () => {
    const { claims } = hub()
    await claims.byToken(joining(keyA))
    await claims.forget(node)
    await claims.byToken({ ...joining(keyB), node: 'edge-2' })
    const hourMs = 3_600_000
    await expect(claims.removeReleased(hourMs)).resolves.toBe(0)
    const later = hub(undefined, new ManualClock(systemClock.nowMs() + hourMs + 60_000))
    await expect(later.claims.removeReleased(hourMs)).resolves.toBe(1)
    expect((await claims.list()).claims.map((claim) => claim.node)).toEqual(['edge-2'])
  })
})

describe('a damaged record', () => {
  async function damage(): Promise<void> {
    const maps = server.client().resource(configMaps).in(namespace)
    const object = await maps.get(claimName(node))
    await maps.update({ ...object, data: { ...object.data, node: 'edge-2' } })
  }

  it('gives the name to nobody, on any way, until it is forgotten', async () => {
    const { claims } = hub()
    await claims.byToken(joining(keyA))
    await damage()
    expect(await codeOf(claims.byToken(joining(keyB, true)))).toBe('internal')
    expect(await codeOf(claims.byCertificate(certificate(keyA)))).toBe('internal')
    expect(await codeOf(claims.byRotation(node, keyA, keyB, endsMs))).toBe('internal')
    await expect(claims.list()).resolves.toMatchObject({ claims: [], damaged: [{ name: claimName(node) }] })
    await expect(claims.forget(node)).resolves.toBe(true)
    expect(await codeOf(claims.byToken(joining(keyB)))).toBe('allowed')
  })

  it('takes the node out of every view', async () => {
    const one = hub()
    await watching([one], async () => {
      await one.claims.byToken(joining(keyA))
      await one.knows(isHeldBy(keyA))
      await damage()
      await one.knows((claim) => claim === undefined)
      expect(await codeOf(one.claims.byCertificate(certificate(keyA)))).toBe('internal')
    })
  })
})

describe('a cluster that does not answer', () => {
  it('is a refusal that says to come back, and changes nothing', async () => {
    const broken = hub(() => 'lost-request')
    expect(await codeOf(broken.claims.byToken(joining(keyA)))).toBe('cluster-unavailable')
    expect(await codeOf(broken.claims.byCertificate(certificate(keyA)))).toBe('cluster-unavailable')
    expect(await codeOf(broken.claims.byRotation(node, keyA, keyB, endsMs))).toBe('cluster-unavailable')
    await expect(broken.claims.forget(node)).rejects.toThrow(
      /cannot forget node edge-1: the API server cannot be reached/,
    )
    await expect(hub().claims.list()).resolves.toEqual({ claims: [], damaged: [] })
  })

  it('is refused to who may not ask it, and said so at the start', async () => {
    const client = server.clientOf('nobody')
    const claims = new ClaimStore({ client, namespace, clock: systemClock, random: systemRandom, logger })
    expect(await codeOf(claims.byToken(joining(keyA)))).toBe('cluster-unavailable')
    await expect(claims.start(new AbortController().signal)).rejects.toThrow(
      /cannot watch the claims of nodes: configmaps is forbidden: User "nobody".*deploy\/hub-rbac\.yaml/,
    )
  })

  it('may lose any one request or answer: asking again leads to the same end', async () => {
    for (const fate of ['lost-request', 'lost-answer'] as const) {
      for (let lost = 0; lost < 10; lost++) {
        await server.client().resource(configMaps).in(namespace).deleteCollection()
        const { claims, transport } = hub((index) => (index === lost ? fate : 'pass'))
        const again = async (work: () => Promise<unknown>): Promise<string> => {
          const first = await codeOf(work())
          return first === 'cluster-unavailable' ? await codeOf(work()) : first
        }
        expect(await again(() => claims.byToken(joining(keyA)))).toBe('allowed')
        expect(await again(() => claims.byRotation(node, keyA, keyB, endsMs))).toBe('allowed')
        // The answer to the rotation may not have arrived: the holder uses what it has, and asks again.
        expect(await again(() => claims.byCertificate(certificate(keyA)))).toBe('allowed')
        expect(await again(() => claims.byRotation(node, keyA, keyC, endsMs))).toBe('allowed')
        expect(await again(() => claims.byCertificate(certificate(keyC)))).toBe('allowed')
        expect(await again(() => claims.byCertificate(certificate(keyA)))).toBe('certificate-revoked')
        expect(transport.asked.length).toBeGreaterThan(lost)
        expect((await hub().claims.list()).claims).toMatchObject([{ node, current: keyC }])
      }
    }
  })

  it('ends the start when that is given up', async () => {
    const broken = hub(() => 'lost-request')
    const giveUp = new AbortController()
    const started = broken.claims.start(giveUp.signal)
    giveUp.abort(new Error('enough'))
    await expect(started).rejects.toThrow('enough')
  })
})

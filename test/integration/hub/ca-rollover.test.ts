/** A hub replaces its CA while edges are out there, some of them asleep. Everything is real but the processes. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HubClient } from '../../../src/edge/hub/hub-client.ts'
import { parseHubUrls } from '../../../src/edge/hub/hub-url.ts'
import { EdgeFiles } from '../../../src/edge/identity/edge-files.ts'
import { LearntTrust } from '../../../src/edge/identity/learnt-trust.ts'
import { type JoinResult, joinHub } from '../../../src/edge/join/join.ts'
import { retirePrevious, rollOver } from '../../../src/hub/cluster/ca-rollover.ts'
import { CLUSTER_CHECK_MS } from '../../../src/hub/cluster/open-cluster.ts'
import { TokenAdministration } from '../../../src/hub/cluster/token-administration.ts'
import { Hub } from '../../../src/hub/hub.ts'
import { readCertificates } from '../../../src/identity/certificate.ts'
import { createRequest } from '../../../src/identity/csr.ts'
import { generateKeys } from '../../../src/identity/keys.ts'
import { nodeSubject } from '../../../src/identity/node-name.ts'
import { verifyCertificate } from '../../../src/identity/verify.ts'
import type { KubeClient } from '../../../src/kube/client/client.ts'
import type { RunningPart } from '../../../src/process/lifecycle.ts'
import { USUAL_HUB_NAMESPACE } from '../../../src/protocol/names.ts'
import { ManualClock } from '../../../src/runtime/clock.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { removeFolder } from '../../remove-folder.ts'
import { type OwnApiServer, startOwnApiServer } from '../../worlds/own-api-server.ts'
import { servedCluster } from '../../worlds/served-cluster.ts'

const logger = pino({ level: 'silent' })
const clock = new ManualClock(Date.now())
let server: OwnApiServer
let client: KubeClient
let hub: Hub
let running: RunningPart
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollover-'))
  server = await startOwnApiServer()
  client = server.client()
  hub = new Hub({
    clusters: [servedCluster(client)],
    clock,
    logger,
    registry: new Registry(),
    listen: { host: '127.0.0.1', port: 0 },
    certificateLifeMs: 90 * 86_400_000,
    renewalGraceMs: 86_400_000,
  })
  running = await hub.start(new AbortController().signal, (cause) => {
    throw cause
  })
})

afterAll(async () => {
  await running.stop(AbortSignal.abort())
  await server.stop()
  removeFolder(folder)
})

async function mint(): Promise<string> {
  const tokens = new TokenAdministration({ client, namespace: USUAL_HUB_NAMESPACE, clock })
  return (await tokens.create({})).text
}

async function joinAs(node: string, text: string): Promise<JoinResult & { files: EdgeFiles }> {
  const dataDir = mkdtempSync(join(folder, `${node}-`))
  const files = new EdgeFiles(dataDir)
  const token = { kind: 'text', text } as const
  return { files, ...(await joinHub({ files, hubs: [hub.url], node, token, clock, random: () => 0.5 })) }
}

function clientOf({ identity, files }: Awaited<ReturnType<typeof joinAs>>) {
  const { node, hubCa: certificates, pair } = identity
  const trust = new LearntTrust({ node, certificates, ownChain: () => pair.chain, files, clock, logger })
  const hubs = parseHubUrls([hub.url])
  return {
    trust,
    hubClient: new HubClient({ hubs, clock, trust: () => trust.certificates, pair: () => identity.pair }),
  }
}

/** Lets the hub look at its Secrets again, and waits until it has. */
async function hubLooksAgain(signing: string): Promise<void> {
  for (let look = 0; look < 200; look++) {
    await clock.advance(CLUSTER_CHECK_MS)
    const { hubClient } = clientOf(await anyEdge())
    const { hubCa = '' } = await hubClient.checkIn()
    if (readCertificates(hubCa, 'the CAs')[0].fingerprint === signing) return
  }
  throw new Error('the hub did not take the new CA over')
}

let known: Awaited<ReturnType<typeof joinAs>> | undefined
async function anyEdge(): Promise<NonNullable<typeof known>> {
  known ??= await joinAs('witness', await mint())
  return known
}

describe('replacing the CA', () => {
  it('keeps every edge that it finds, lets them learn the new one, and ends the old when it is retired', async () => {
    const asleep = await joinAs('asleep', await mint())
    const oldToken = await mint()
    await anyEdge()
    const options = { client, namespace: USUAL_HUB_NAMESPACE, clock, random: systemRandom }
    const { signing, previous } = await rollOver(options)
    expect(previous.map(({ fingerprint }) => fingerprint)).toEqual([asleep.identity.hubCa[0]?.fingerprint])
    await hubLooksAgain(signing.fingerprint)

    // An edge that knows only the old CA follows the cross-certificate, and learns.
    const { hubClient, trust } = clientOf(asleep)
    await trust.learn(await hubClient.checkIn())
    expect(trust.problem).toBeUndefined()
    expect(trust.isOwnIssuerReplaced).toBe(true)
    expect(trust.certificates.map(({ fingerprint }) => fingerprint)).toEqual([
      signing.fingerprint,
      previous[0]?.fingerprint,
    ])
    expect((await asleep.files.readHubCa())?.length).toBe(2)

    // Its next certificate is of the new CA, and chains to the old one too.
    const { privateKey } = await generateKeys()
    const pem = await hubClient.renew(await createRequest({ subject: nodeSubject('asleep') }, privateKey))
    const [renewed, ...intermediates] = readCertificates(pem, 'the renewed certificate')
    const checks = { intermediates, usage: 'clientAuth', atMs: clock.nowMs() } as const
    expect(verifyCertificate(renewed, { ...checks, trust: [signing] }).ok).toBe(true)
    expect(verifyCertificate(renewed, { ...checks, trust: previous }).ok).toBe(true)

    // A token from before still finds the CA that it names; new ones name the new CA.
    const latecomer = await joinAs('latecomer', oldToken)
    expect(latecomer.outcome).toBe('joined')
    expect((await joinAs('newcomer', await mint())).identity.hubCa[0]?.fingerprint).toBe(signing.fingerprint)

    // One has a certificate of the old CA, the other has not shown that the new one arrived.
    await expect(retirePrevious(options)).rejects.toThrow(/2 of 4 nodes .*: asleep, witness\. /)
    await retirePrevious({ ...options, force: true })
    const witness = await anyEdge()
    const untilRefused = async (): Promise<string> => {
      for (let look = 0; look < 200; look++) {
        await clock.advance(CLUSTER_CHECK_MS)
        try {
          await clientOf(witness).hubClient.checkIn()
        } catch (error) {
          return (error as { code: string }).code
        }
      }
      return 'accepted'
    }
    // Its certificate is one of the old CA, which nobody trusts any more.
    expect(await untilRefused()).toBe('certificate-invalid')

    // One that has a certificate of the new CA and pinned the old one still learns.
    const late = clientOf(latecomer)
    await late.trust.learn(await late.hubClient.checkIn())
    expect(late.trust.certificates.map(({ fingerprint }) => fingerprint)).toEqual([signing.fingerprint])
  })
})

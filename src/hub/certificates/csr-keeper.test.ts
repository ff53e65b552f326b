import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRequest, readRequest } from '../../identity/csr.ts'
import { generateKeys } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { CertificateSigningRequest } from '../../kube/client/types.ts'
import { ApiError } from '../../kube/status/status.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { CSR_DECISION_RETRY_MS, CsrKeeper, MAX_CSR_DECISION_RETRY_MS } from './csr-keeper.ts'
import { csrObject } from './csr-object.ts'
import { CertificateMetrics } from './metrics.ts'
import { clientContent } from './template.ts'

const ownUser = 'hub'
const keys = await generateKeys()
const content = clientContent('edge-1', 3600)

async function ours(): Promise<CertificateSigningRequest> {
  const made = csrObject(
    content,
    await readRequest(await createRequest({ subject: nodeSubject('edge-1') }, keys.privateKey)),
  )
  return { ...made, metadata: { ...made.metadata, resourceVersion: '9' }, spec: { ...made.spec, username: ownUser } }
}

/** A cluster that holds these requests; `decide` is what becomes of a decision on one of them. */
async function keep(items: readonly CertificateSigningRequest[], decide: (name: string) => Promise<unknown>) {
  const clock = new ManualClock()
  const decisions: string[] = []
  const csrs = {
    list: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items }),
    // Refused as an old server does, so that the keeper lists.
    watch: (query: { sendInitialEvents?: boolean }) =>
      query.sendInitialEvents === true
        ? Promise.reject(new ApiError({ code: 400, reason: 'BadRequest', message: 'no' }))
        : new Promise<never>(() => {}),
    subresource: (name: string) => ({
      update: () => {
        decisions.push(name)
        return decide(name)
      },
    }),
  }
  const keeper = new CsrKeeper({
    client: { resource: () => csrs } as unknown as KubeClient,
    clock,
    logger: pino({ level: 'silent' }),
    audit: pino({ level: 'silent' }),
    metrics: new CertificateMetrics(new Registry()),
    ownUser,
    contentFor: () => Promise.resolve(content),
  })
  const running = await keeper.start()
  onTestFinished(() => void running.stop(AbortSignal.abort()))
  return { clock, decisions }
}

const named = (name: string, index: number, csr: CertificateSigningRequest): CertificateSigningRequest => ({
  ...csr,
  metadata: { ...csr.metadata, name, resourceVersion: `${index}` },
  spec: { ...csr.spec, username: 'mallory' },
})

describe('CsrKeeper', () => {
  it('waits longer and longer with a decision that is forbidden', async () => {
    const forbidden = new ApiError({ code: 403, reason: 'Forbidden', message: 'no' })
    const { clock, decisions } = await keep([named('causeway-edge-x', 1, await ours())], () =>
      Promise.reject(forbidden),
    )
    const counts: number[] = []
    for (const waitMs of [0, 1, 2, 4].map((factor) => factor * CSR_DECISION_RETRY_MS)) {
      await clock.advance(waitMs)
      counts.push(decisions.length)
    }
    expect(counts).toEqual([1, 2, 3, 4])
    await clock.advance(20 * MAX_CSR_DECISION_RETRY_MS)
    expect(decisions.length).toBeLessThan(30)
  })

  it('decides the others while one decision hangs', async () => {
    const own = await ours()
    const stuck = named('causeway-edge-a', 1, own)
    const { decisions } = await keep([stuck, own], (name) =>
      name === 'causeway-edge-a' ? new Promise(() => {}) : Promise.resolve(),
    )
    await expect.poll(() => decisions).toEqual(['causeway-edge-a', own.metadata?.name])
  })
})

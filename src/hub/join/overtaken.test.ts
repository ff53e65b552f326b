/** Revocations that happen while a slow body is still on its way. */
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import {
  credentialFor,
  dial,
  eventually,
  type HubWorld,
  joined,
  signingRequest,
  startHub,
} from '../../../test/worlds/hub-world.ts'
import { certificateRoutes, SIGNING_BURST, signingLimits } from '../certificates/certificate-routes.ts'
import type { NodeCertificates } from '../certificates/node-certificates.ts'
import { HTTP_TIMES } from '../port/http-settings.ts'
import { NodeBudget } from '../port/node-budget.ts'
import { WorkGate } from '../port/overload.ts'

/** Sends the head, lets `meanwhile` happen once the hub waits for the body, and sends that. */
async function slowly(
  world: HubWorld,
  { path, head = '', body, credential = {} }: { path: string; head?: string; body: string; credential?: object },
  meanwhile: () => unknown,
): Promise<string> {
  const socket = await dial(world, credential)
  const length = Buffer.byteLength(body)
  socket.write(`POST ${path} HTTP/1.1\r\nHost: hub\r\n${head}Content-Length: ${length}\r\n\r\n`)
  await eventually(() => expect(world.clock.nextDueMs).toBe(HTTP_TIMES.bodyMs))
  await meanwhile()
  socket.write(body)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return answer.toString()
}

describe('a revocation overtakes', () => {
  it('a join whose token was good when its head came', async () => {
    const world = await startHub()
    const { pem } = await signingRequest('edge-1')
    const head = `Authorization: Bearer ${await world.cluster.mint()}\r\n`
    const answer = await slowly(world, { path: '/edge.crt', head, body: pem }, () =>
      world.cluster.revokedTokens.add('token-1'),
    )
    expect(answer).toContain('"code":"token-revoked"')
    expect(world.cluster.claims.known('edge-1')).toBeUndefined()
  })

  it('a renewal by a node that is forgotten meanwhile', async () => {
    const world = await startHub()
    const credential = await joined(world, 'edge-1')
    const { pem } = await signingRequest('edge-1')
    const answer = await slowly(world, { path: '/edge.crt', body: pem, credential }, () =>
      world.cluster.claims.forget('edge-1'),
    )
    expect(answer).toContain('"code":"certificate-revoked"')
  })
})

describe('a certificate of the cluster', () => {
  async function signing(request: NodeCertificates['request']) {
    const certificates = { request } as NodeCertificates
    const clock = { nowMs: () => Date.now(), monotonicMs: () => 0, schedule: () => () => {}, sleep: async () => {} }
    const routes = certificateRoutes({
      clock,
      budget: new NodeBudget(clock, signingLimits),
      gate: new WorkGate(),
      certificatesOf: () => certificates,
    })
    const world = await startHub({ routes })
    const credential = await credentialFor(world.cluster.ca, { clock: world.clock })
    const { pem } = await signingRequest('edge-1')
    return { world, credential, body: pem, path: '/v1/certificates/client' }
  }

  it('is not asked for by a node that is forgotten before its body is there', async () => {
    let asked = 0
    const { world, ...request } = await signing(async () => `${++asked}`)
    const answer = await slowly(world, request, () => world.cluster.claims.forget('edge-1'))
    expect(answer).toContain('"code":"certificate-revoked"')
    expect(asked).toBe(0)
  })

  it('is not handed to a node that is forgotten while the cluster signs', async () => {
    const { world, ...request } = await signing(async () => {
      await world.cluster.claims.forget('edge-1')
      return 'PEM'
    })
    expect(await slowly(world, request, () => {})).toContain('"code":"certificate-revoked"')
  })

  it('is asked for so often by one node, and not more often', async () => {
    const { world, ...request } = await signing(async () => 'PEM')
    for (let count = 0; count < SIGNING_BURST; count++)
      expect(await slowly(world, request, () => {})).toContain(' 200 ')
    const socket = await dial(world, request.credential)
    socket.write(`POST ${request.path} HTTP/1.1\r\nHost: hub\r\nContent-Length: 9\r\n\r\n`)
    expect(String((await once(socket, 'data'))[0])).toContain('"code":"too-many-requests"')
  })
})

/**
 * Unmodified in-cluster clients with nothing but their service account: kubectl and small programs around the published
 * libraries. Each prints the same lines: who it is, the pods it lists, what became of a ConfigMap it wrote, the ConfigMaps
 * it starts to watch from, and what happens to the one named `signal` until that is gone. The API server's audit log has
 * what each of them asked, which must be the same whether they were given its own address or that of an edge's endpoint.
 */
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { delimiter } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { peersDirectory } from './control-plane.ts'
import { EndpointWorld } from './endpoint-transparency-edge.ts'
import { type ControlPlane, describeReal, kubectl } from './harness.ts'
import { type AuditLog, prepareAuditLog } from './in-cluster-clients/audit.ts'
import { CLIENT_ACCOUNT, type Client, clients, manifestOf } from './in-cluster-clients/clients.ts'
import { type Line, missingForPods, PodProcess } from './in-cluster-clients/pod.ts'
import { expectedRequests } from './in-cluster-clients/requests.ts'

/** The addresses under test: what the clients are told that the API server is. */
const addresses: Readonly<Record<string, (world: EndpointWorld) => URL>> = {
  directly: ({ plane }) => new URL(plane.server),
  'at-the-edge': ({ endpoint }) => new URL(endpoint),
}

function strangerCertificate(): string {
  const args = 'req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=stranger -days 2'
  return execFileSync('openssl', args.split(' '), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

describeReal(
  'in-cluster clients',
  () => {
    let world: EndpointWorld
    let plane: ControlPlane
    let audit: AuditLog
    let caPem: string

    beforeAll(async () => {
      audit = await prepareAuditLog()
      // With feeds the API server sees their watches in place of those of the clients.
      world = await EndpointWorld.start({ apiServerFlags: audit.flags }, '--feeds', 'off')
      ;({ plane } = world)
      caPem = await readFile(plane.caFile, 'utf8')
    })

    afterAll(async () => {
      await world?.stop()
      audit?.remove()
    })

    async function start(client: Client, namespace: string, server: URL, ca: string): Promise<PodProcess> {
      await kubectl(plane, ['create', '--filename=-'], manifestOf(namespace))
      const program = await PodProcess.start({
        host: server.hostname,
        port: Number(server.port),
        caPem: ca,
        token: (await kubectl(plane, ['create', 'token', CLIENT_ACCOUNT, '--namespace', namespace])).trim(),
        namespace,
        command: client.command,
        path: [peersDirectory(), process.env['PATH']].join(delimiter),
      })
      onTestFinished(() => program.stop())
      return program
    }

    /** To its end, while what it watches comes, changes and goes. */
    async function work(client: Client, namespace: string, server: URL): Promise<readonly Line[]> {
      const onSignal = (verb: string, ...args: string[]) =>
        kubectl(plane, [verb, 'configmap', 'signal', '--namespace', namespace, ...args])
      const program = await start(client, namespace, server, caPem)
      await program.until('watching')
      await onSignal('create', '--from-literal=phase=one')
      await program.until('seen')
      await onSignal('patch', '--patch={"data":{"phase":"two"}}')
      await program.until('seen')
      await onSignal('delete')
      await program.until('gone')
      expect(await program.end()).toMatchObject({ code: 0 })
      return program.transcript
    }

    for (const client of clients)
      describeReal(
        client.name,
        () => {
          it('knows itself, lists, writes, and sees what happens, by the same requests at every address', async () => {
            const userAgents: (readonly string[])[] = []
            for (const [address, serverOf] of Object.entries(addresses)) {
              const namespace = `${client.name}-${address}`
              const user = `system:serviceaccount:${namespace}:${CLIENT_ACCOUNT}`
              expect(await work(client, namespace, serverOf(world)), address).toEqual([
                { step: 'identity', user },
                { step: 'pods', names: ['one', 'two'] },
                { step: 'written', phase: 'updated' },
                { step: 'watching', names: ['defaults', 'settings'] },
                { step: 'seen', phase: 'one' },
                { step: 'seen', phase: 'two' },
                { step: 'gone' },
              ])
              const requests = expect.poll(() => audit.requestsOf(user), { message: address })
              await requests.toEqual(expectedRequests[client.name])
              userAgents.push(await audit.userAgentsOf(user))
            }
            const [atTheServer, ...elsewhere] = userAgents
            expect(elsewhere).toEqual([atTheServer])
          })

          it.each(Object.entries(addresses))(
            'refuses a server that its ca.crt did not sign, %s',
            async (address, serverOf) => {
              const namespace = `${client.name}-${address}-stranger`
              const program = await start(client, namespace, serverOf(world), strangerCertificate())
              const { code, errors } = await program.end()
              expect(code).not.toBe(0)
              expect(errors).toMatch(/certificate|PKIX/i)
              expect(await audit.requestsOf(`system:serviceaccount:${namespace}:${CLIENT_ACCOUNT}`)).toEqual([])
            },
          )
        },
        [],
        client.missing,
      )
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'],
  missingForPods(),
)

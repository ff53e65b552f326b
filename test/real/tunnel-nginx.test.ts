/** nginx in front of hubs: passing TLS on by the name that it reads in it, and opening TLS itself. */
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { endAll } from '../e2e/harness.ts'
import type { RunningHub } from '../e2e/hub-cluster.ts'
import { type TunnelEdge, TunnelWorld } from '../e2e/tunnel-world.ts'
import { removeFolder } from '../remove-folder.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import { Daemon, freePorts } from './control-plane.ts'
import { describeReal } from './harness.ts'

const patience = { timeout: 60_000, interval: 200 }
const hourMs = 3_600_000
const streamModule = '/usr/lib/nginx/modules/ngx_stream_module.so'
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
const nginx = folders.map((folder) => join(folder, 'nginx')).find(existsSync)
const missing = nginx === undefined ? ['nginx'] : existsSync(streamModule) ? [] : ['stream module of nginx']

describeReal(
  'nginx in front of hubs',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'causeway-nginx-'))
    let named: Site
    let nameless: Site
    let proxy: Daemon
    let passingPort: number
    let openingPort: number

    beforeAll(async () => {
      ;[passingPort = 0, openingPort = 0] = await freePorts(2)
      ;[named, nameless] = [await startSite(), await startSite()]
      await writeOwnCertificate(folder)
      writeFileSync(join(folder, 'nginx.conf'), configuration())
      proxy = await Daemon.start('nginx', folder, ['-p', folder, '-c', 'nginx.conf'], nginx)
      await vi.waitFor(() => listening(openingPort), patience)
    })
    afterAll(async () => {
      await proxy?.kill()
      for (const site of [named, nameless]) await site?.world.cluster.close()
      await endAll()
      removeFolder(folder)
    })

    /** One port passes TLS on unopened, by the name in it; the other opens it and passes WebSockets on. */
    function configuration(): string {
      return `
load_module ${streamModule};
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
stream {
  map $ssl_preread_server_name $hub {
    localhost 127.0.0.1:${named.port};
    default 127.0.0.1:${nameless.port};
  }
  server {
    listen 127.0.0.1:${passingPort};
    ssl_preread on;
    proxy_pass $hub;
  }
}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {
    listen 127.0.0.1:${openingPort} ssl;
    ssl_certificate own.crt;
    ssl_certificate_key own.key;
    location /v1/tunnel {
      proxy_pass https://127.0.0.1:${named.port};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection upgrade;
      proxy_read_timeout 1h;
    }
  }
}
`
    }

    it.each(['tls', 'websocket'])('leads an edge over %s to the hub of the name it uses', async (carrier) => {
      const byName = `https://localhost:${passingPort}`
      const byAddress = `https://127.0.0.1:${passingPort}`
      const one = await named.world.edge(`${carrier}-named`, { hubs: [byName], flags: ['--carrier', carrier] })
      const other = await nameless.world.edge(`${carrier}-nameless`, {
        hubs: [byAddress],
        flags: ['--carrier', carrier],
      })
      expect(await carrierOf(named, one)).toMatch(new RegExp(`^${carrier} `))
      expect(await carrierOf(nameless, other)).toMatch(new RegExp(`^${carrier} `))
      await Promise.all([one, other].map(stopped))
    })

    it('opens TLS, and the edge shakes hands with the hub inside', async () => {
      const { world, hub } = named
      const token = await world.cluster.token('token-inner', { node: 'inner' })
      expect(await world.cluster.join('inner', hub.url, token)).toMatchObject({ code: 0 })
      const flags = ['--inner-tls', '--outer-ca', join(folder, 'ca.crt')]
      const hubs = [`https://127.0.0.1:${openingPort}`]
      const edge = await world.edgeWithCertificatesOf('inner', 'inner-edge', { hubs, flags })
      expect(await carrierOf(named, edge)).toMatch(/^websocket\+inner-tls /)
      await stopped(edge)
    })
  },
  [],
  missing,
)

interface Site {
  readonly world: TunnelWorld
  readonly hub: RunningHub
  readonly port: number
}

async function startSite(): Promise<Site> {
  const world = await TunnelWorld.start()
  const hub = await world.cluster.hub('hub', '--advertise', '127.0.0.1,localhost')
  return { world, hub, port: Number(new URL(hub.url).port) }
}

/** Proves that the link leads to the right cluster: nobody else would take that edge's certificate. */
async function carrierOf({ world }: Site, { port, dataDir }: TunnelEdge): Promise<string | undefined> {
  await world.works(port, patience)
  return (await world.links(dataDir))[0]?.carrier
}

async function stopped({ process }: TunnelEdge): Promise<void> {
  process.kill('SIGTERM')
  expect(await process.exited).toEqual({ code: 0, signal: null })
}

async function writeOwnCertificate(folder: string): Promise<void> {
  const ca = await makeCa(systemClock, 'the company')
  const { privateKey, publicKey } = await generateKeys()
  const names = { dnsNames: [], ipAddresses: ['127.0.0.1'] }
  const template = { ...validityFromNow(systemClock, hourMs), subject: userName('proxy'), names }
  const certificate = await issueCertificate(ca, { ...template, extendedKeyUsages: ['serverAuth'] }, publicKey)
  writeFileSync(join(folder, 'ca.crt'), certificatePem(ca.certificate))
  writeFileSync(join(folder, 'own.crt'), certificatePem(certificate))
  writeFileSync(join(folder, 'own.key'), privateKeyPem(privateKey))
}

async function listening(port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
  })
}

/** One suite for every way an edge can reach its hub, dialled as an edge dials it. */
import { afterAll } from 'vitest'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type DialHubOptions, dialHub } from '../../../src/tunnel/carriers/dial-hub.ts'
import { parseProxySettings } from '../../../src/tunnel/carriers/proxy-settings.ts'
import {
  type Middleman,
  startConnectProxy,
  startNameRelay,
  startTlsOpeningProxy,
} from '../../worlds/carrier-middlemen.ts'
import { CarrierHub, issuePems } from '../../worlds/carrier-world.ts'
import { makeCa } from '../../worlds/edge-hub.ts'
import { type CuttablePair, describeCarrierFully } from './suite.ts'

interface Way {
  readonly hub: CarrierHub
  readonly options: DialHubOptions
  readonly middleman?: Middleman
}

const ways: Promise<Way>[] = []
afterAll(async () => {
  for (const { hub, middleman } of await Promise.all(ways)) {
    await middleman?.stop()
    await hub.stop()
  }
})

function describeWay(name: string, prepare: () => Promise<Way>): void {
  let way: Promise<Way> | undefined
  describeCarrierFully(name, async () => {
    way ??= remember(prepare())
    return await pairOf(await way)
  })
}

function remember(way: Promise<Way>): Promise<Way> {
  ways.push(way)
  return way
}

async function pairOf({ hub, options }: Way): Promise<CuttablePair> {
  const dialled = await dialHub(options)
  const { carrier: far, socket } = await hub.accepted()
  const stop = (): void => {
    dialled.carrier.destroy()
    far.destroy()
  }
  return { near: dialled.carrier, far, stop, cut: () => socket.destroy() }
}

describeWay('tls', async () => {
  const hub = await CarrierHub.start()
  return { hub, options: { ...hub.options(), carriers: 'tls' } }
})

describeWay('websocket', async () => {
  const hub = await CarrierHub.start()
  return { hub, options: { ...hub.options(), carriers: 'websocket' } }
})

describeWay('tls through a balancer that looks at the name', async () => {
  const hub = await CarrierHub.start()
  const middleman = await startNameRelay((name) => (name === 'hub.example' ? hub.port : undefined))
  const options = { ...hub.options('127.0.0.1', middleman.port), serverName: 'hub.example', carriers: 'tls' as const }
  return { hub, middleman, options }
})

describeWay('websocket through an HTTP proxy', async () => {
  const hub = await CarrierHub.start()
  const middleman = await startConnectProxy({ toPort: hub.port })
  const proxy = parseProxySettings({ HTTPS_PROXY: `http://127.0.0.1:${middleman.port}` })
  return { hub, middleman, options: { ...hub.options('hub.example'), carriers: 'websocket', proxy } }
})

describeWay('tls through an HTTPS proxy', async () => {
  const hub = await CarrierHub.start()
  const { ca: proxyCa, ...tls } = await issuePems(await makeCa(systemClock), 'serverAuth', ['127.0.0.1'])
  const middleman = await startConnectProxy({ toPort: hub.port, tls })
  const proxy = parseProxySettings({ HTTPS_PROXY: `https://127.0.0.1:${middleman.port}` })
  return { hub, middleman, options: { ...hub.options('hub.example'), carriers: 'tls', proxy, proxyCa } }
})

describeWay('websocket with inner TLS through a proxy that opens TLS', async () => {
  const hub = await CarrierHub.start()
  const { ca: outerCa, ...tls } = await issuePems(await makeCa(systemClock), 'serverAuth', ['127.0.0.1'])
  const middleman = await startTlsOpeningProxy(hub.port, tls)
  const options = { ...hub.options('127.0.0.1', middleman.port), carriers: 'auto' as const, innerTls: { outerCa } }
  return { hub, middleman, options }
})

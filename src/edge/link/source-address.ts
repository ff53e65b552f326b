/** From which of its addresses this machine would reach a hub: when that changes, connections from the old one are dead. */
import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'

/** Addresses that belong to nobody, for hubs with a name: the question is then about the default route. */
const nowhere = { 4: '192.0.2.1', 6: '2001:db8::1' } as const

/** Asks the kernel by connecting a datagram socket, which sends nothing. `undefined` where there is no route. */
export async function sourceAddressTowards(hub: URL): Promise<string | undefined> {
  const host = hub.hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  if (family !== 0) return await sourceOf(host, family === 6 ? 'udp6' : 'udp4')
  return (await sourceOf(nowhere[4], 'udp4')) ?? (await sourceOf(nowhere[6], 'udp6'))
}

function sourceOf(host: string, type: 'udp4' | 'udp6'): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(type)
    const finish = (address: string | undefined): void => {
      socket.close()
      resolve(address)
    }
    socket.once('error', () => finish(undefined))
    // Any port will do: nothing is sent.
    socket.connect(443, host, (...errors: unknown[]) => {
      finish(errors[0] === undefined ? socket.address().address : undefined)
    })
  })
}

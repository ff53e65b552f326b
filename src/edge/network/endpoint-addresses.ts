/** Where the endpoint listens, as `--endpoint-address` says it. */
import { isLoopbackAddress } from '../../network/special-address.ts'
import { BindAddressError, isAlwaysThere, parseBindAddress } from './bind-address.ts'

const usualLoopback = '127.0.0.1'
/** As the only address: none but loopback. */
const noAddress = 'none'

export interface EndpointAddresses {
  readonly loopback: string
  /** In canonical text; none of them loopback. */
  readonly addresses: readonly string[]
}

/** Throws a `BindAddressError`. */
export function parseEndpointAddresses(given: readonly string[]): EndpointAddresses {
  if (given.length === 1 && given[0] === noAddress) return { loopback: usualLoopback, addresses: [] }
  const parsed = [...new Set(given.map(parseEndpointAddress))]
  const loopbacks = parsed.filter(isLoopbackAddress)
  if (loopbacks.length > 1)
    throw new BindAddressError(`${loopbacks.join(' and ')} are loopback addresses, and one of them is enough`)
  return { loopback: loopbacks[0] ?? usualLoopback, addresses: parsed.filter((address) => !isLoopbackAddress(address)) }
}

function parseEndpointAddress(text: string): string {
  if (text === noAddress) throw new BindAddressError(`"${noAddress}" must stand alone`)
  const address = parseAddress(text)
  if (!isLoopbackAddress(address) && isAlwaysThere(address))
    throw new BindAddressError(`${address} is every address of this machine; a certificate must name each`)
  return address
}

/** One address of the endpoint, by the rules of a bind address; only the name in the error is of this option. */
function parseAddress(text: string): string {
  try {
    return parseBindAddress(text)
  } catch (error) {
    if (!(error instanceof BindAddressError)) throw error
    throw new BindAddressError(error.message.replace(/^bind address/, 'endpoint address'), { cause: error })
  }
}

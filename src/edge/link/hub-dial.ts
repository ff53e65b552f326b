/** How requests to a hub's HTTPS begin: straight, or through the proxy that is set, as sessions do by `dialHub`. */
import { type Dial, dialTcp } from '../../kube/client/connector.ts'
import type { Clock } from '../../runtime/clock.ts'
import { DialError } from '../../tunnel/carriers/dial-error.ts'
import type { DialHubOptions } from '../../tunnel/carriers/dial-hub.ts'
import { DIAL_TIMEOUTS, openPath } from '../../tunnel/carriers/tcp-path.ts'
import { networkError } from '../hub/hub-error.ts'

export type ProxyPath = Pick<DialHubOptions, 'proxy' | 'proxyCa' | 'dial'>

export function createHubDial(clock: Clock, { proxy, proxyCa, dial }: ProxyPath): Dial {
  return async (target, signal) => {
    if (proxy?.proxyFor(target.host, target.port) === undefined) return await (dial ?? dialTcp)(target, signal)
    try {
      return (await openPath(target, { clock, signal, proxy, proxyCa, dial, timeouts: DIAL_TIMEOUTS })).socket
    } catch (error) {
      if (!(error instanceof DialError)) throw error
      throw networkError('unreachable', error.message, { cause: error })
    }
  }
}

/** What the settings of an edge mean for its links and for what passes over them. */

import type { EdgeNetworkSettings } from '../edge/compose.ts'
import type { EndpointSettings } from '../edge/compose-endpoint.ts'
import { DestinationRuleError, parseDestinationRules } from '../edge/destinations/destination-rule.ts'
import { FilterNameError, type FilterSettings, readDisabledFilters } from '../edge/filters/filter-settings.ts'
import { ForwardSpecError, parseForwards } from '../edge/forwards/forward-spec.ts'
import { BindAddressError, parseBindAddress } from '../edge/network/bind-address.ts'
import { parseEndpointAddresses } from '../edge/network/endpoint-addresses.ts'
import { readRegularFile } from '../runtime/files/regular-file.ts'
import { ProxySettingsError, parseProxySettings } from '../tunnel/carriers/proxy-settings.ts'
import type { EdgeConfig } from './config/edge.ts'
import type { CommandContext } from './context.ts'
import { UsageError } from './failure.ts'
import { suggestion } from './nearest.ts'
import { replicaSettings } from './replica-settings.ts'

export function edgeNetworkSettings(
  config: EdgeConfig,
  environment: CommandContext['environment'],
): EdgeNetworkSettings {
  const forwards = asUsage('--target', () => parseForwards(config.target))
  const { bindAddress: given } = config
  const bindAddress = given === undefined ? undefined : asUsage('--bind-address', () => parseBindAddress(given))
  if (forwards.length > 0 && bindAddress === undefined)
    throw new UsageError('--target needs --bind-address: the address to listen on, such as 127.0.0.1')
  if (forwards.length === 0 && bindAddress !== undefined)
    throw new UsageError('--bind-address needs --target: without one there is nothing to listen for')
  return {
    destinationRules: asUsage('--allow-destination', () => parseDestinationRules(config.allowDestination)),
    forwards,
    bindAddress,
    endpoint: endpointSettings(config),
    carriers: config.carrier,
    proxy: asUsage('HTTPS_PROXY', () => parseProxySettings(environment)),
    innerTls: config.innerTls ? outerCaOf(config) : undefined,
  }
}

function endpointSettings(config: EdgeConfig): EndpointSettings {
  const { endpointPort: port, endpointAddress: given, writeKubeletKubeconfig: writeKubeconfigs, nat } = config
  const parsed = asUsage('--endpoint-address', () => parseEndpointAddresses(given))
  if (nat && parsed.addresses.length === 0)
    throw new UsageError('--nat needs an --endpoint-address: packets of pods cannot be led to 127.0.0.1')
  return {
    port,
    ...parsed,
    writeKubeconfigs,
    nat,
    filters: filterSettings(config),
    replica: replicaSettings(config),
  }
}

export function filterSettings({ disabledResourceFilters }: EdgeConfig): FilterSettings {
  return {
    disabled: asUsage('--disabled-resource-filters', () => readDisabledFilters(disabledResourceFilters, suggestion)),
  }
}

function outerCaOf({ outerCa }: EdgeConfig): { readonly outerCa?: string } {
  if (outerCa === undefined) return {}
  try {
    return { outerCa: readRegularFile(outerCa).toString('utf8') }
  } catch (error) {
    throw new UsageError(`--outer-ca: ${(error as Error).message}`, { cause: error })
  }
}

function asUsage<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const kinds = [ForwardSpecError, BindAddressError, DestinationRuleError, ProxySettingsError, FilterNameError]
    if (kinds.some((kind) => error instanceof kind))
      throw new UsageError(`${what}: ${(error as Error).message}`, { cause: error })
    throw error
  }
}

/**
 * Gives this machine addresses that it does not have: on a dummy interface of our own, where the kernel has none on a bridge
 * without ports, else on `lo`. What others made is never touched; what we made is put back when it vanishes, taken over after
 * a crash, and removed at the end.
 */

import type { Registry } from 'prom-client'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ExplainedError } from '../../runtime/explained-error.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import { isAlwaysThere } from './bind-address.ts'
import {
  hardwareAddressOf,
  type InterfacePlan,
  type InterfaceWish,
  ipArguments,
  type LinkKind,
  LOOPBACK_INTERFACE,
  planInterface,
  readInterfaces,
} from './interface-plan.ts'
import { type IpCommand, IpCommandError, runIp } from './ip-command.ts'
import { createNetworkMetrics, type NetworkMetrics } from './network-metrics.ts'

const DEFAULT_INTERFACE_NAME = 'edge-dummy0'
/** An address that somebody removes is back within this time. */
export const INTERFACE_CHECK_MS = 10_000

export class InterfaceError extends ExplainedError {
  override readonly name = 'InterfaceError'
}

export interface OwnInterfaceOptions {
  /** In canonical text, as `parseBindAddress` gives them. */
  readonly addresses: readonly string[]
  /** Tells the interfaces of several edges on one machine apart: the data folder, say. Must be the same at each start. */
  readonly owner: string
  readonly interfaceName?: string
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
  readonly ip?: IpCommand
  /** As the runtime sees them, for machines without `ip`. */
  readonly ownAddresses: () => readonly string[]
}

export interface InterfaceStatus {
  readonly addresses: readonly { readonly address: string; readonly interface: string; readonly isOurs: boolean }[]
  readonly problem: string | undefined
}

export class OwnInterface implements Part {
  readonly name = 'interface'
  readonly #options: OwnInterfaceOptions
  readonly #wish: InterfaceWish
  readonly #ip: IpCommand
  readonly #logger: Logger
  readonly #metrics: NetworkMetrics
  /** Addresses that this process has put on `lo`. */
  readonly #onLoopback = new Set<string>()
  #places: InterfacePlan['places'] = new Map()
  #problem: string | undefined
  #checking: Promise<void> = Promise.resolve()
  #cancelCheck = (): void => {}

  constructor(options: OwnInterfaceOptions) {
    const { owner, interfaceName: name = DEFAULT_INTERFACE_NAME, ip = runIp } = options
    this.#options = options
    const addresses = [...new Set(options.addresses)].filter((address) => !isAlwaysThere(address))
    this.#wish = { name, hardwareAddress: hardwareAddressOf(owner, name), addresses }
    this.#ip = ip
    this.#logger = componentLogger(options.logger, 'edge/network')
    this.#metrics = createNetworkMetrics(options.registry)
  }

  health(): Health {
    return this.#problem === undefined ? HEALTHY : unhealthy(this.#problem)
  }

  get status(): InterfaceStatus {
    const addresses = [...this.#places].map(([address, place]) => ({ address, ...place }))
    return { addresses, problem: this.#problem }
  }

  /** Resolves when the machine has every address; rejects with an `InterfaceError` that says how to help. */
  async start(): Promise<RunningPart> {
    if (this.#wish.addresses.length === 0) return { stop: async () => {} }
    const isManaged = await this.#ensure().then(
      () => true,
      (error: unknown) => this.#canDoWithout(error),
    )
    if (isManaged) this.#scheduleCheck()
    return {
      stop: async () => {
        this.#cancelCheck()
        await this.#checking
        if (isManaged) await this.#remove()
      },
    }
  }

  /** Without `ip` all is well as long as there is nothing to do; false then. */
  #canDoWithout(error: unknown): boolean {
    const own = this.#options.ownAddresses()
    const isMissing = this.#wish.addresses.some((address) => !own.includes(address))
    if (!isMissing && error instanceof IpCommandError && error.failure === 'not-installed') return false
    throw this.#explained(error)
  }

  #scheduleCheck(): void {
    this.#cancelCheck = this.#options.clock.schedule(INTERFACE_CHECK_MS, () => {
      this.#checking = this.#check()
    })
  }

  async #check(): Promise<void> {
    try {
      if (await this.#ensure()) {
        this.#metrics.repaired()
        this.#logger.warn({ addresses: this.#wish.addresses }, 'an address had vanished and was put back')
      }
      this.#problem = undefined
    } catch (error) {
      const { message } = this.#explained(error)
      if (message !== this.#problem) this.#logger.error({ why: message }, 'an address is missing')
      this.#problem = message
    }
    this.#scheduleCheck()
  }

  /** True if something had to be put there. */
  async #ensure(): Promise<boolean> {
    const plan = await this.#look()
    if (plan.conflict !== undefined) throw new InterfaceError(plan.conflict)
    const { name } = this.#wish
    for (const address of plan.surplus) await this.#ip(ipArguments.removeAddress(address, name))
    if (plan.missing.length > 0) await this.#place(plan)
    else if (plan.hasLink && !plan.isUp) await this.#ip(ipArguments.setUp(name))
    this.#places = plan.missing.length > 0 ? (await this.#look()).places : plan.places
    this.#metrics.addresses([...this.#places.values()].filter(({ isOurs }) => isOurs).length)
    return plan.missing.length > 0
  }

  async #look(): Promise<InterfacePlan> {
    return planInterface(this.#wish, readInterfaces(await this.#ip(ipArguments.show())))
  }

  async #place({ hasLink, missing }: InterfacePlan): Promise<void> {
    const { name } = this.#wish
    const device = hasLink || (await this.#createLink()) ? name : LOOPBACK_INTERFACE
    if (device === name) await this.#ip(ipArguments.setUp(name))
    for (const address of missing) {
      await this.#ip(ipArguments.addAddress(address, device))
      if (device === LOOPBACK_INTERFACE) this.#onLoopback.add(address)
      this.#logger.info({ address, interface: device }, 'address added')
    }
  }

  /** False where the kernel makes none of the kinds we can use. */
  async #createLink(): Promise<boolean> {
    const kinds: readonly LinkKind[] = ['dummy', 'bridge']
    for (const kind of kinds) {
      try {
        await this.#ip(ipArguments.createLink(this.#wish, kind))
      } catch (error) {
        if (error instanceof IpCommandError && error.failure === 'not-supported') continue
        throw error
      }
      // For people who look at the list; nothing depends on it.
      await this.#ip(ipArguments.describeLink(this.#wish.name)).catch(() => {})
      return true
    }
    return false
  }

  /** Looks again first: only what is still ours is removed. */
  async #remove(): Promise<void> {
    const { name } = this.#wish
    const { hasLink, places } = await this.#look()
    if (hasLink) await this.#ip(ipArguments.removeLink(name))
    for (const [address, place] of places) {
      const isOurs = place.isOurs || this.#onLoopback.has(address)
      if (isOurs && place.interface === LOOPBACK_INTERFACE)
        await this.#ip(ipArguments.removeAddress(address, LOOPBACK_INTERFACE))
    }
    this.#places = new Map()
    this.#metrics.addresses(0)
  }

  #explained(error: unknown): Error {
    if (!(error instanceof IpCommandError)) return error instanceof Error ? error : new Error(String(error))
    const { name, addresses } = this.#wish
    const wanted = `this machine does not have ${addresses.join(', ')}`
    const byHand = `ip link add ${name} type dummy; ip link set ${name} up; ip addr add ADDRESS dev ${name}`
    const options = { cause: error }
    if (error.failure === 'not-permitted')
      return new InterfaceError(
        `${wanted}, and this user may not add an address: run as root or with CAP_NET_ADMIN, or add it yourself (${byHand})`,
        options,
      )
    if (error.failure === 'not-installed')
      return new InterfaceError(`${wanted}, and there is no ip command to add it: install iproute2`, options)
    return new InterfaceError(`${wanted}, and it could not be added: ${error.message}`, options)
  }
}

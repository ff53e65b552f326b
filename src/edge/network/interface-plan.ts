/**
 * Which address is where, and what is to be done about it, without doing it. An interface is ours if it has our name and the
 * hardware address that follows from whose it is: the kernel sets both when it makes the interface, so there is no moment in
 * which a crash could leave one that nobody knows. On `lo`, IPv4 addresses of ours carry a label.
 */
import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import * as v from 'valibot'
import { canonicalIpAddress } from '../../network/ip-address.ts'

export const LOOPBACK_INTERFACE = 'lo'
const loopbackLabel = 'lo:causeway'

const interfaceList = v.array(
  v.object({
    ifname: v.string(),
    flags: v.array(v.string()),
    address: v.optional(v.string()),
    addr_info: v.optional(v.array(v.looseObject({ local: v.optional(v.string()), label: v.optional(v.string()) })), []),
  }),
)

export interface MachineInterface {
  readonly name: string
  readonly hardwareAddress: string
  readonly isUp: boolean
  readonly addresses: readonly {
    readonly address: string
    readonly isLabelled: boolean
    readonly isLinkLocal: boolean
  }[]
}

export interface InterfaceWish {
  readonly name: string
  readonly hardwareAddress: string
  /** In canonical text. */
  readonly addresses: readonly string[]
}

export interface InterfacePlan {
  /** Why nothing can be done, if that is so. */
  readonly conflict: string | undefined
  readonly hasLink: boolean
  readonly isUp: boolean
  /** Addresses that no interface has. */
  readonly missing: readonly string[]
  /** Addresses of our interface that nobody wants any more. */
  readonly surplus: readonly string[]
  /** Where each address that is there is. */
  readonly places: ReadonlyMap<string, { readonly interface: string; readonly isOurs: boolean }>
}

/** Locally administered, and the same for the same owner at every start. */
export function hardwareAddressOf(owner: string, name: string): string {
  const digest = createHash('sha256').update(`causeway\n${owner}\n${name}`).digest()
  return ['02', ...[...digest.subarray(0, 5)].map((byte) => byte.toString(16).padStart(2, '0'))].join(':')
}

/** Reads what `ip -j addr show` prints. */
export function readInterfaces(json: string): readonly MachineInterface[] {
  return v.parse(interfaceList, JSON.parse(json)).map(({ ifname, flags, address = '', addr_info }) => ({
    name: ifname,
    hardwareAddress: address,
    isUp: flags.includes('UP'),
    addresses: addr_info.flatMap(({ local, label, scope }) => {
      const text = local === undefined ? undefined : canonicalIpAddress(local)
      if (text === undefined) return []
      return [{ address: text, isLabelled: label === loopbackLabel, isLinkLocal: scope === 'link' && !isIPv4(text) }]
    }),
  }))
}

export function planInterface(wish: InterfaceWish, interfaces: readonly MachineInterface[]): InterfacePlan {
  const named = interfaces.find(({ name }) => name === wish.name)
  const ours = named?.hardwareAddress === wish.hardwareAddress ? named : undefined
  const places = new Map<string, { interface: string; isOurs: boolean }>()
  for (const each of interfaces) {
    for (const { address, isLabelled } of each.addresses) {
      const isOurs = each === ours || (each.name === LOOPBACK_INTERFACE && isLabelled)
      if (wish.addresses.includes(address)) places.set(address, { interface: each.name, isOurs })
    }
  }
  const missing = wish.addresses.filter((address) => !places.has(address))
  const surplus = (ours?.addresses ?? []).filter(
    ({ address, isLinkLocal }) => !isLinkLocal && !wish.addresses.includes(address),
  )
  return {
    conflict: missing.length > 0 && named !== undefined && ours === undefined ? conflictText(wish) : undefined,
    hasLink: ours !== undefined,
    isUp: ours?.isUp ?? false,
    missing,
    surplus: surplus.map(({ address }) => address),
    places,
  }
}

function conflictText({ name }: InterfaceWish): string {
  return (
    `there is an interface ${name} that this edge did not make, so it is left alone; ` +
    'rename or remove it, or give the address to an interface yourself'
  )
}

export type LinkKind = 'dummy' | 'bridge'

/** Arguments of the `ip` command, nothing of which passes a shell. */
export const ipArguments = {
  show: () => ['-j', 'addr', 'show'],
  createLink: ({ name, hardwareAddress }: InterfaceWish, kind: LinkKind) => [
    'link',
    'add',
    'dev',
    name,
    'address',
    hardwareAddress,
    'type',
    kind,
  ],
  describeLink: (name: string) => ['link', 'set', 'dev', name, 'alias', 'causeway edge'],
  setUp: (name: string) => ['link', 'set', 'dev', name, 'up'],
  removeLink: (name: string) => ['link', 'del', 'dev', name],
  addAddress: (address: string, device: string) => [
    ...['addr', 'add', withPrefix(address), 'dev', device],
    // Nobody else can have it here, and an address in doubt cannot be bound.
    ...(isIPv4(address) ? [] : ['nodad']),
    ...(isIPv4(address) && device === LOOPBACK_INTERFACE ? ['label', loopbackLabel] : []),
  ],
  removeAddress: (address: string, device: string) => ['addr', 'del', withPrefix(address), 'dev', device],
}

function withPrefix(address: string): string {
  return `${address}/${isIPv4(address) ? 32 : 128}`
}

/** The rules of the level `baseline`: nothing that reaches beyond the pod onto its node. */
import { goQuote } from '../../../kube/status/go-text.ts'
import { flag, has, integer, struct, structs, text, texts } from '../../kinds/fields.ts'
import type { Rule } from './rule.ts'
import {
  type Breach,
  type Container,
  counted,
  distinct,
  namesOf,
  plural,
  quoted,
  type Subject,
  setters,
  uses,
} from './subject.ts'

const armorPrefix = 'container.apparmor.security.beta.kubernetes.io/'
const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod'
const seccompPrefix = 'container.seccomp.security.alpha.kubernetes.io/'
const safeProfiles = ['RuntimeDefault', 'Localhost']

const defaultCapabilities = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]

/** What may be set in the release of the key and later. */
const sysctlsSince: readonly (readonly [number, readonly string[]])[] = [
  [
    0,
    [
      'kernel.shm_rmid_forced',
      'net.ipv4.ip_local_port_range',
      'net.ipv4.tcp_syncookies',
      'net.ipv4.ping_group_range',
      'net.ipv4.ip_unprivileged_port_start',
    ],
  ],
  [27, ['net.ipv4.ip_local_reserved_ports']],
  [
    29,
    [
      'net.ipv4.tcp_keepalive_time',
      'net.ipv4.tcp_fin_timeout',
      'net.ipv4.tcp_keepalive_intvl',
      'net.ipv4.tcp_keepalive_probes',
    ],
  ],
  [32, ['net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']],
]
const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t']
const engineTypeSince = 31

/** In the order of their names, in which breaches are told. */
export const BASELINE_RULES: readonly Rule[] = [
  { id: 'appArmorProfile', check: checkAppArmor },
  { id: 'capabilities_baseline', check: checkCapabilities },
  { id: 'hostNamespaces', check: checkHostNamespaces },
  { id: 'hostPathVolumes', check: checkHostPaths },
  { id: 'hostPorts', check: checkHostPorts },
  { id: 'hostProbesAndHostLifecycle', since: 34, check: checkHandlerHosts },
  { id: 'privileged', check: checkPrivileged },
  { id: 'procMount', until: 35, check: checkProcMount },
  { id: 'procMount', since: 35, sparesUserNamespaces: true, check: checkProcMount },
  { id: 'seLinuxOptions', check: checkSeLinux },
  { id: 'seccompProfile_baseline', until: 19, check: checkSeccompAnnotations },
  { id: 'seccompProfile_baseline', since: 19, check: checkSeccomp },
  { id: 'sysctls', check: checkSysctls },
  { id: 'windowsHostProcess', check: checkHostProcess },
]

function checkAppArmor({ security, annotations, containers }: Subject): Breach | undefined {
  const typeOf = (context: Container['security']): string | undefined => {
    const profile = struct(context, 'appArmorProfile')
    return profile === undefined ? undefined : text(profile, 'type')
  }
  const isBad = (type: string | undefined): type is string => type !== undefined && !safeProfiles.includes(type)
  const bad = containers.filter((container) => isBad(typeOf(container.security)))
  const types = distinct([typeOf(security), ...bad.map((container) => typeOf(container.security))].filter(isBad))
  const notes = Object.entries(annotations)
    .filter(([key, value]) => key.startsWith(armorPrefix) && !/^($|runtime\/default$|localhost\/)/.test(value))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .toSorted()
  const who = [
    ...(isBad(typeOf(security)) || bad.length > 0 ? [setters(isBad(typeOf(security)), bad)] : []),
    ...(notes.length > 0 ? [plural('annotation', notes.length)] : []),
  ]
  if (who.length === 0) return undefined
  const values = [...types, ...notes]
  return {
    reason: plural('forbidden AppArmor profile', values.length),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  }
}

function checkCapabilities({ containers }: Subject): Breach | undefined {
  const foreign = ({ security }: Container): string[] =>
    texts(struct(security, 'capabilities'), 'add').filter((name) => !defaultCapabilities.includes(name))
  const bad = containers.filter((container) => foreign(container).length > 0)
  if (bad.length === 0) return undefined
  const added = quoted(distinct(bad.flatMap(foreign)))
  const who = counted('container', namesOf(bad))
  return {
    reason: 'non-default capabilities',
    detail: `${who} must not include ${added} in securityContext.capabilities.add`,
  }
}

function checkHostNamespaces({ spec }: Subject): Breach | undefined {
  const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((name) => flag(spec, name))
  if (shared.length === 0) return undefined
  return { reason: 'host namespaces', detail: shared.map((name) => `${name}=true`).join(', ') }
}

function checkHostPaths({ spec }: Subject): Breach | undefined {
  const names = structs(spec, 'volumes').flatMap((volume) => (has(volume, 'hostPath') ? [text(volume, 'name')] : []))
  return names.length === 0 ? undefined : { reason: 'hostPath volumes', detail: counted('volume', names) }
}

function checkHostPorts({ containers }: Subject): Breach | undefined {
  const portsOf = ({ fields }: Container): string[] =>
    structs(fields, 'ports').flatMap((port) => (integer(port, 'hostPort') ? [`${integer(port, 'hostPort')}`] : []))
  const bad = containers.filter((container) => portsOf(container).length > 0)
  if (bad.length === 0) return undefined
  const ports = distinct(bad.flatMap(portsOf))
  const who = counted('container', namesOf(bad))
  return {
    reason: 'hostPort',
    detail: `${who} ${uses(bad.length)} ${plural('hostPort', ports.length)} ${ports.join(', ')}`,
  }
}

/** A probe or a hook that names a host makes the kubelet call it. */
function checkHandlerHosts({ containers }: Subject): Breach | undefined {
  const hostsOf = ({ fields }: Container): string[] => {
    const lifecycle = struct(fields, 'lifecycle')
    const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'].map((name) => struct(fields, name))
    const handlers = [...probes, struct(lifecycle, 'postStart'), struct(lifecycle, 'preStop')]
    return handlers
      .flatMap((handler) => ['httpGet', 'tcpSocket'].map((name) => text(struct(handler, name), 'host')))
      .filter((host) => host !== '')
  }
  const bad = distinct(namesOf(containers.filter((container) => hostsOf(container).length > 0)))
  if (bad.length === 0) return undefined
  const hosts = distinct(containers.flatMap(hostsOf))
  const what = counted('probe or lifecycle host', hosts)
  return { reason: 'probe or lifecycle host', detail: `${counted('container', bad)} ${uses(bad.length)} ${what}` }
}

function checkPrivileged({ containers }: Subject): Breach | undefined {
  const bad = namesOf(containers.filter(({ security }) => flag(security, 'privileged')))
  if (bad.length === 0) return undefined
  return { reason: 'privileged', detail: `${counted('container', bad)} must not set securityContext.privileged=true` }
}

export function checkProcMount({ containers }: Subject): Breach | undefined {
  const bad = containers.filter(({ security }) => !['', 'Default'].includes(text(security, 'procMount')))
  if (bad.length === 0) return undefined
  const types = quoted(distinct(bad.map(({ security }) => text(security, 'procMount'))))
  const who = counted('container', namesOf(bad))
  return { reason: 'procMount', detail: `${who} must not set securityContext.procMount to ${types}` }
}

function checkSeLinux({ security, containers }: Subject, minor: number): Breach | undefined {
  const allowed = minor >= engineTypeSince ? [...seLinuxTypes, 'container_engine_t'] : seLinuxTypes
  const optionsOf = (context: Container['security']) => struct(context, 'seLinuxOptions')
  const isBad = (context: Container['security']): boolean => {
    const options = optionsOf(context)
    return !allowed.includes(text(options, 'type')) || text(options, 'user') !== '' || text(options, 'role') !== ''
  }
  const bad = containers.filter((container) => isBad(container.security))
  const who = setters(isBad(security), bad)
  if (who === '') return undefined
  const all = [security, ...containers.map((container) => container.security)].map(optionsOf)
  const types = distinct(all.map((options) => text(options, 'type')).filter((type) => !allowed.includes(type)))
  const what = [
    ...(types.length > 0 ? [counted('type', types)] : []),
    ...['user', 'role'].flatMap((name) =>
      all.some((options) => text(options, name) !== '') ? [`${name} may not be set`] : [],
    ),
  ]
  return {
    reason: 'seLinuxOptions',
    detail: `${who} set forbidden securityContext.seLinuxOptions: ${what.join('; ')}`,
  }
}

function checkSeccompAnnotations({ annotations, containers }: Subject): Breach | undefined {
  const keys = [seccompPod, ...containers.map(({ name }) => `${seccompPrefix}${name}`)]
  const bad = distinct(
    keys.flatMap((key) => {
      const value = annotations[key]
      const isFine = value === undefined || /^(runtime\/default$|docker\/default$|localhost\/)/.test(value)
      return isFine ? [] : [`${key}=${goQuote(value)}`]
    }),
  )
  if (bad.length === 0) return undefined
  return { reason: 'seccompProfile', detail: `forbidden ${plural('annotation', bad.length)} ${bad.join(', ')}` }
}

export function seccompTypeOf(context: Container['security']): string | undefined {
  const profile = struct(context, 'seccompProfile')
  return profile === undefined ? undefined : text(profile, 'type')
}

export function checkSeccomp({ security, containers }: Subject): Breach | undefined {
  const isBad = (type: string | undefined): type is string => type !== undefined && !safeProfiles.includes(type)
  const bad = containers.filter((container) => isBad(seccompTypeOf(container.security)))
  const who = setters(isBad(seccompTypeOf(security)), bad)
  if (who === '') return undefined
  const all = [security, ...bad.map((container) => container.security)].map(seccompTypeOf)
  const types = quoted(distinct(all.filter(isBad)))
  return { reason: 'seccompProfile', detail: `${who} must not set securityContext.seccompProfile.type to ${types}` }
}

function checkSysctls({ security }: Subject, minor: number): Breach | undefined {
  const allowed = sysctlsSince.flatMap(([since, names]) => (minor >= since ? names : []))
  const bad = structs(security, 'sysctls')
    .map((sysctl) => text(sysctl, 'name'))
    .filter((name) => !allowed.includes(name))
  return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') }
}

function checkHostProcess({ security, containers }: Subject): Breach | undefined {
  const isHost = (context: Container['security']): boolean => flag(struct(context, 'windowsOptions'), 'hostProcess')
  const who = setters(
    isHost(security),
    containers.filter((container) => isHost(container.security)),
  )
  if (who === '') return undefined
  return { reason: 'hostProcess', detail: `${who} must not set securityContext.windowsOptions.hostProcess=true` }
}

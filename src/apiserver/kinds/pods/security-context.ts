/** Security contexts of pods and of containers. */
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkEach, checkNumber, checkSupported } from '../checks.ts'
import { type Fields, flag, has, integer, struct, structs, text, texts } from '../fields.ts'
import { inRange, MAX_ID } from '../names.ts'
import { checkDescendingPath } from './paths.ts'

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']
const sysctlPattern = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'
const MAX_SYSCTL_LENGTH = 253

const validId = (id: number): string[] => inRange(id, 0, MAX_ID)

export function checkPodSecurityContext(context: Fields | undefined, spec: Fields, path: string): FieldError[] {
  if (context === undefined) return []
  const groups = context['supplementalGroups']
  return [
    ...['fsGroup', 'runAsUser', 'runAsGroup'].flatMap((name) =>
      checkNumber(integer(context, name), `${path}.${name}`, validId),
    ),
    ...checkEach(Array.isArray(groups) ? groups : [], `${path}.supplementalGroups`, (group, at) =>
      checkNumber(Number(group), at, validId),
    ),
    ...(flag(spec, 'shareProcessNamespace') && flag(spec, 'hostPID')
      ? [
          invalidField(
            `${path}.shareProcessNamespace`,
            true,
            'ShareProcessNamespace and HostPID cannot both be enabled',
          ),
        ]
      : []),
    ...checkSysctls(context, spec, `${path}.sysctls`),
    ...checkOptional(context, 'fsGroupChangePolicy', path, ['Always', 'OnRootMismatch']),
    ...checkProfile(struct(context, 'seccompProfile'), 'seccomp', `${path}.seccompProfile`),
    ...checkProfile(struct(context, 'appArmorProfile'), 'AppArmor', `${path}.appArmorProfile`),
    ...checkOptional(context, 'supplementalGroupsPolicy', path, ['Merge', 'Strict']),
    ...checkOptional(context, 'seLinuxChangePolicy', path, ['MountOption', 'Recursive']),
  ]
}

export function checkContainerSecurityContext(
  context: Fields | undefined,
  hostUsers: boolean,
  path: string,
): FieldError[] {
  if (context === undefined) return []
  return [
    ...['runAsUser', 'runAsGroup'].flatMap((name) => checkNumber(integer(context, name), `${path}.${name}`, validId)),
    ...checkProcMount(text(context, 'procMount'), hostUsers, `${path}.procMount`),
    ...checkProfile(struct(context, 'seccompProfile'), 'seccomp', `${path}.seccompProfile`),
    ...checkPrivilegeEscalation(context, path),
    ...checkProfile(struct(context, 'appArmorProfile'), 'AppArmor', `${path}.appArmorProfile`),
  ]
}

function checkOptional(context: Fields, name: string, path: string, supported: readonly string[]): FieldError[] {
  return has(context, name) ? checkSupported(text(context, name), `${path}.${name}`, supported) : []
}

function checkProcMount(procMount: string, hostUsers: boolean, path: string): FieldError[] {
  if (procMount === '' || procMount === 'Default') return []
  if (procMount !== 'Unmasked') return [notSupportedField(path, procMount, ['Default', 'Unmasked'])]
  return hostUsers ? [invalidField(path, procMount, '`hostUsers` must be false to use `Unmasked`')] : []
}

function checkPrivilegeEscalation(context: Fields, path: string): FieldError[] {
  if (context['allowPrivilegeEscalation'] !== false) return []
  const errors: FieldError[] = []
  const denied = 'cannot set `allowPrivilegeEscalation` to false and'
  if (flag(context, 'privileged')) {
    errors.push(invalidField(path, asInternal(context), `${denied} \`privileged\` to true`))
  }
  for (const capability of texts(struct(context, 'capabilities'), 'add')) {
    if (capability === 'CAP_SYS_ADMIN') {
      errors.push(invalidField(path, asInternal(context), `${denied} \`capabilities.Add\` CAP_SYS_ADMIN`))
    }
  }
  return errors
}

/** How the API server prints this struct in an error: by the names of its Go fields. Nested structs keep their JSON names here. */
function asInternal(context: Fields): Fields {
  const names = [
    'capabilities',
    'privileged',
    'sELinuxOptions',
    'windowsOptions',
    'runAsUser',
    'runAsGroup',
    'runAsNonRoot',
    'readOnlyRootFilesystem',
    'allowPrivilegeEscalation',
    'procMount',
    'seccompProfile',
    'appArmorProfile',
  ]
  return Object.fromEntries(names.map((name) => [`${name[0]?.toUpperCase()}${name.slice(1)}`, context[name] ?? null]))
}

function checkSysctls(context: Fields, spec: Fields, path: string): FieldError[] {
  const seen = new Set<string>()
  return checkEach(structs(context, 'sysctls'), path, (sysctl, at) => {
    const name = text(sysctl, 'name')
    const errors: FieldError[] = []
    if (name === '') errors.push(requiredField(`${at}.name`))
    else if (!isSysctlName(name)) {
      const detail = `must have at most ${MAX_SYSCTL_LENGTH} characters and match regex ${sysctlPattern}`
      errors.push(invalidField(`${at}.name`, name, detail))
    } else if (seen.has(name)) errors.push(duplicateField(`${at}.name`, name))
    seen.add(name)
    if (flag(spec, 'hostNetwork') && /^net[./]/.test(name)) {
      errors.push(invalidField(`${at}.name`, name, "may not be specified when 'hostNetwork' is true"))
    } else if (flag(spec, 'hostIPC') && /^(?:kernel[./](?:shm|msg|sem)|fs[./]mqueue[./])/.test(name)) {
      errors.push(invalidField(`${at}.name`, name, "may not be specified when 'hostIPC' is true"))
    }
    return errors
  })
}

function isSysctlName(name: string): boolean {
  const parts = name.split(/[./]/)
  return name.length <= MAX_SYSCTL_LENGTH && parts.every((part) => /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/.test(part))
}

function checkProfile(profile: Fields | undefined, what: 'seccomp' | 'AppArmor', path: string): FieldError[] {
  if (profile === undefined) return []
  const type = text(profile, 'type')
  const localhost = has(profile, 'localhostProfile') ? text(profile, 'localhostProfile') : undefined
  const errors: FieldError[] = []
  const field = what === 'seccomp' ? 'seccompProfile' : 'appArmorProfile'
  if (type === '') errors.push(requiredField(`${path}.type`, `type is required when ${field} is set`))
  else if (!profileTypes.includes(type)) errors.push(notSupportedField(`${path}.type`, type, profileTypes))
  if (type === 'Localhost') {
    if (localhost === undefined || localhost === '') {
      errors.push(requiredField(`${path}.localhostProfile`, `must be set when ${what} type is Localhost`))
    } else if (what === 'seccomp') errors.push(...checkDescendingPath(localhost, `${path}.localhostProfile`))
  } else if (localhost !== undefined) {
    const shown = what === 'seccomp' ? { Type: type, LocalhostProfile: localhost } : localhost
    errors.push(invalidField(`${path}.localhostProfile`, shown, `can only be set when ${what} type is Localhost`))
  }
  return errors
}

/** Settings that share the host with the pod contradict user namespaces of its own. */
export function checkHostUsers(spec: Fields, path: string): FieldError[] {
  if (spec['hostUsers'] !== false) return []
  const detail = 'when `hostUsers` is false'
  return [
    ...(flag(spec, 'hostNetwork') ? [forbiddenField(`${path}.hostNetwork`, detail)] : []),
    ...(flag(spec, 'hostPID') ? [forbiddenField(`${path}.HostPID`, detail)] : []),
    ...(flag(spec, 'hostIPC') ? [forbiddenField(`${path}.HostIPC`, detail)] : []),
  ]
}

/** Containers, init containers and ephemeral containers of a pod. */
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  notFoundField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import {
  checkEach,
  checkName,
  checkNumber,
  checkRequired,
  checkRequiredName,
  checkRequiredSupported,
} from '../checks.ts'
import { type Fields, has, integer, struct, structs, text } from '../fields.ts'
import { dnsLabel, portName, portNumber } from '../names.ts'
import { checkEnvironment } from './environment.ts'
import { checkDevices, checkMounts } from './mounts.ts'
import { checkLifecycle, checkProbes } from './probes.ts'
import { checkResources, type OfferedClaims } from './resources.ts'
import { checkContainerSecurityContext } from './security-context.ts'

/** What the checks of containers need to know about their pod. */
export interface PodSurroundings {
  readonly volumes: ReadonlyMap<string, Fields>
  readonly offeredClaims: OfferedClaims
  readonly gracePeriodSeconds: number | undefined
  readonly restartPolicy: string
  readonly hostUsers: boolean
}

export const PORT_PROTOCOLS = ['SCTP', 'TCP', 'UDP']

const pullPolicies = ['Always', 'IfNotPresent', 'Never']
const messagePolicies = ['File', 'FallbackToLogsOnError']
const restartPolicies = ['Always', 'Never', 'OnFailure']
const refusedInEphemeral = ['ports', 'resources', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle']

export function checkContainers(containers: readonly Fields[], pod: PodSurroundings, path: string): FieldError[] {
  if (containers.length === 0) return [requiredField(path)]
  const names = new Set<string>()
  const errors = checkEach(containers, path, (container, at) => {
    const name = text(container, 'name')
    const found = checkContainer(container, pod, at)
    if (names.has(name)) found.push(duplicateField(`${at}.name`, name))
    names.add(name)
    return [
      ...found,
      ...checkLifecycle(struct(container, 'lifecycle'), pod.gracePeriodSeconds, `${at}.lifecycle`),
      ...checkProbes(container, at),
      ...checkRestartPolicy(container, at),
    ]
  })
  return [...errors, ...checkHostPorts(containers, path)]
}

export function checkInitContainers(
  initContainers: readonly Fields[],
  containers: readonly Fields[],
  pod: PodSurroundings,
  path: string,
): FieldError[] {
  const names = new Set(containers.map((container) => text(container, 'name')))
  return checkEach(initContainers, path, (container, at) => {
    const name = text(container, 'name')
    const errors = [...checkContainer(container, pod, at), ...checkRestartPolicy(container, at)]
    if (names.has(name)) errors.push(duplicateField(`${at}.name`, name))
    else if (name !== '') names.add(name)
    errors.push(...checkHostPorts([container], path))
    if (text(container, 'restartPolicy') === 'Always') {
      const lifecycle = struct(container, 'lifecycle')
      return [
        ...errors,
        ...checkLifecycle(lifecycle, pod.gracePeriodSeconds, `${at}.lifecycle`),
        ...checkProbes(container, at),
      ]
    }
    const detail = 'may not be set for init containers without restartPolicy=Always'
    const refused = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'].filter((field) =>
      has(container, field),
    )
    return [...errors, ...refused.map((field) => forbiddenField(`${at}.${field}`, detail))]
  })
}

export function checkEphemeralContainers(spec: Fields, pod: PodSurroundings, path: string): FieldError[] {
  const others = [...structs(spec, 'containers'), ...structs(spec, 'initContainers')].map((other) =>
    text(other, 'name'),
  )
  const [names, targets] = [new Set(others), new Set(others)]
  const detail = 'cannot be set for an Ephemeral Container'
  return checkEach(structs(spec, 'ephemeralContainers'), path, (container, at) => {
    const [name, target] = [text(container, 'name'), text(container, 'targetContainerName')]
    const errors = [...checkContainer(container, pod, at), ...checkImageSpelling(container, at)]
    if (names.has(name)) errors.push(duplicateField(`${at}.name`, name))
    names.add(name)
    if (target !== '' && !targets.has(target)) errors.push(notFoundField(`${at}.targetContainerName`, target))
    const refused = refusedInEphemeral.filter(
      (field) => Object.keys(struct(container, field) ?? container[field] ?? {}).length > 0,
    )
    errors.push(...refused.map((field) => forbiddenField(`${at}.${field}`, detail)))
    return errors
  })
}

/** Only in pods, not in templates: old templates with such images exist. */
export function checkImageSpelling(container: Fields, path: string): FieldError[] {
  const image = text(container, 'image')
  return image === image.trim()
    ? []
    : [invalidField(`${path}.image`, image, 'must not have leading or trailing whitespace')]
}

function checkContainer(container: Fields, pod: PodSurroundings, path: string): FieldError[] {
  const policy = text(container, 'terminationMessagePolicy')
  return [
    ...checkRequiredName(text(container, 'name'), `${path}.name`, dnsLabel),
    ...checkRequired(text(container, 'image'), `${path}.image`),
    ...checkRequiredSupported(policy, `${path}.terminationMessagePolicy`, messagePolicies),
    ...checkPorts(structs(container, 'ports'), `${path}.ports`),
    ...checkEnvironment(container, path),
    ...checkMounts(container, pod.volumes, path),
    ...checkDevices(container, pod.volumes, path),
    ...checkRequiredSupported(text(container, 'imagePullPolicy'), `${path}.imagePullPolicy`, pullPolicies),
    ...checkResources(struct(container, 'resources'), pod.offeredClaims, `${path}.resources`),
    ...checkResizePolicies(container, pod.restartPolicy, `${path}.resizePolicy`),
    ...checkContainerSecurityContext(struct(container, 'securityContext'), pod.hostUsers, `${path}.securityContext`),
  ]
}

function checkPorts(ports: readonly Fields[], path: string): FieldError[] {
  const names = new Set<string>()
  return checkEach(ports, path, (port, at) => {
    const name = text(port, 'name')
    const nameErrors = name === '' ? [] : checkName(name, `${at}.name`, portName)
    if (nameErrors.length === 0 && names.has(name)) nameErrors.push(duplicateField(`${at}.name`, name))
    if (name !== '') names.add(name)
    return [
      ...nameErrors,
      ...(integer(port, 'containerPort')
        ? checkNumber(integer(port, 'containerPort'), `${at}.containerPort`, portNumber)
        : [requiredField(`${at}.containerPort`)]),
      ...checkNumber(integer(port, 'hostPort') || undefined, `${at}.hostPort`, portNumber),
      ...checkRequiredSupported(text(port, 'protocol'), `${at}.protocol`, PORT_PROTOCOLS),
    ]
  })
}

function checkHostPorts(containers: readonly Fields[], path: string): FieldError[] {
  const taken = new Set<string>()
  return checkEach(containers, path, (container, containerAt) =>
    checkEach(structs(container, 'ports'), `${containerAt}.ports`, (port, at) => {
      const hostPort = integer(port, 'hostPort') ?? 0
      if (hostPort === 0) return []
      const key = `${text(port, 'protocol')}/${text(port, 'hostIP')}/${hostPort}`
      if (taken.has(key)) return [duplicateField(`${at}.hostPort`, key)]
      taken.add(key)
      return []
    }),
  )
}

function checkResizePolicies(container: Fields, restartPolicy: string, path: string): FieldError[] {
  const seen = new Set<string>()
  return checkEach(structs(container, 'resizePolicy'), path, (policy, at) => {
    const [resource, restart] = [text(policy, 'resourceName'), text(policy, 'restartPolicy')]
    const errors = seen.has(resource) ? [duplicateField(at, resource)] : []
    seen.add(resource)
    errors.push(...checkRequiredSupported(resource, path, ['cpu', 'memory']))
    errors.push(...checkRequiredSupported(restart, path, ['NotRequired', 'RestartContainer']))
    if (restartPolicy === 'Never' && restart !== 'NotRequired') {
      errors.push(invalidField(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    }
    return errors
  })
}

/** The restart policy of one container, against that of its pod. */
function checkRestartPolicy(container: Fields, path: string): FieldError[] {
  const rules = structs(container, 'restartPolicyRules')
  if (!has(container, 'restartPolicy')) {
    const detail = 'must specify restartPolicy when restart rules are used'
    return rules.length > 0 ? [requiredField(`${path}.restartPolicy`, detail)] : []
  }
  const policy = text(container, 'restartPolicy')
  return restartPolicies.includes(policy) ? [] : [notSupportedField(`${path}.restartPolicy`, policy, restartPolicies)]
}

/** Probes and lifecycle hooks: both name one handler. */
import { type FieldError, forbiddenField, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkName, checkNotNegative, checkNumber, checkRequired, checkSupported } from '../checks.ts'
import { type Fields, has, integer, intOrText, struct, structs, text, texts } from '../fields.ts'
import { headerName, portName, portNumber } from '../names.ts'

const probeHandlers = ['exec', 'httpGet', 'tcpSocket', 'grpc'] as const
const hookHandlers = ['exec', 'httpGet', 'tcpSocket', 'sleep'] as const
type Handler = (typeof probeHandlers)[number] | (typeof hookHandlers)[number]

export function checkProbes(container: Fields, path: string): FieldError[] {
  return [
    ...checkProbe(struct(container, 'livenessProbe'), `${path}.livenessProbe`, mustSucceedOnce),
    ...checkProbe(struct(container, 'readinessProbe'), `${path}.readinessProbe`, mustNotEndThePod),
    ...checkProbe(struct(container, 'startupProbe'), `${path}.startupProbe`, mustSucceedOnce),
  ]
}

export function checkLifecycle(
  lifecycle: Fields | undefined,
  gracePeriodSeconds: number | undefined,
  path: string,
): FieldError[] {
  return ['postStart', 'preStop'].flatMap((name) => {
    const hook = struct(lifecycle, name)
    return hook === undefined ? [] : checkHandler(hook, hookHandlers, `${path}.${name}`, gracePeriodSeconds)
  })
}

function checkProbe(
  probe: Fields | undefined,
  path: string,
  checkKind: (probe: Fields, path: string) => FieldError[],
): FieldError[] {
  if (probe === undefined) return []
  const grace = integer(probe, 'terminationGracePeriodSeconds')
  return [
    ...checkHandler(probe, probeHandlers, path),
    ...['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'].flatMap(
      (name) => checkNotNegative(integer(probe, name), `${path}.${name}`),
    ),
    ...(grace !== undefined && grace <= 0
      ? [invalidField(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0')]
      : []),
    ...checkKind(probe, path),
  ]
}

function mustSucceedOnce(probe: Fields, path: string): FieldError[] {
  const threshold = integer(probe, 'successThreshold') ?? 0
  return threshold === 1 ? [] : [invalidField(`${path}.successThreshold`, threshold, 'must be 1')]
}

function mustNotEndThePod(probe: Fields, path: string): FieldError[] {
  const grace = integer(probe, 'terminationGracePeriodSeconds')
  const at = `${path}.terminationGracePeriodSeconds`
  return grace === undefined ? [] : [invalidField(at, grace, 'must not be set for readinessProbes')]
}

function checkHandler(
  holder: Fields,
  handlers: readonly Handler[],
  path: string,
  gracePeriodSeconds?: number,
): FieldError[] {
  const [first, ...others] = handlers.filter((name) => has(holder, name))
  if (first === undefined) return [requiredField(path, 'must specify a handler type')]
  return [
    ...checkAction(first, struct(holder, first) ?? {}, `${path}.${first}`, gracePeriodSeconds),
    ...others.map((name) => forbiddenField(`${path}.${name}`, 'may not specify more than 1 handler type')),
  ]
}

function checkAction(handler: Handler, action: Fields, path: string, graceSeconds: number | undefined): FieldError[] {
  switch (handler) {
    case 'exec':
      return texts(action, 'command').length === 0 ? [requiredField(`${path}.command`)] : []
    case 'httpGet':
      return checkHttpGet(action, path)
    case 'tcpSocket':
    case 'grpc':
      return checkPort(intOrText(action, 'port') ?? 0, `${path}.port`)
    default:
      return checkSleep(integer(action, 'seconds') ?? 0, graceSeconds, path)
  }
}

function checkHttpGet(action: Fields, path: string): FieldError[] {
  return [
    ...checkRequired(text(action, 'path'), `${path}.path`),
    ...checkPort(intOrText(action, 'port') ?? 0, `${path}.port`),
    ...checkSupported(text(action, 'scheme'), `${path}.scheme`, ['HTTP', 'HTTPS']),
    ...structs(action, 'httpHeaders').flatMap((header) =>
      checkName(text(header, 'name'), `${path}.httpHeaders`, headerName),
    ),
  ]
}

function checkSleep(seconds: number, graceSeconds: number | undefined, path: string): FieldError[] {
  if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return []
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`
  return [invalidField(path, seconds, detail)]
}

/** A port by number or by the name that a container gives it. */
export function checkPort(port: number | string, path: string): FieldError[] {
  return typeof port === 'number' ? checkNumber(port, path, portNumber) : checkName(port, path, portName)
}

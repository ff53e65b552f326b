/** Ingresses and IngressClasses. */
import {
  type FieldError,
  invalidField,
  notSupportedField,
  requiredField,
  tooLongField,
} from '../../../kube/status/field-error.ts'
import { ipFamily } from '../addresses.ts'
import { checkEach, checkImmutable, checkName, checkNumber, checkRequiredName, checkSupported } from '../checks.ts'
import { type Fields, has, integer, struct, structs, text, textMap, texts } from '../fields.ts'
import { dnsLabel, dnsSubdomain, explain, pathSegment, portName, portNumber, wildcardSubdomain } from '../names.ts'
import type { KindRules } from '../rules.ts'

const MAX_INGRESS_CONTROLLER_LENGTH = 250

const classAnnotation = 'kubernetes.io/ingress.class'
const refusedSequences = ['//', '/./', '/../', '%2f', '%2F']
const refusedEnds = ['/..', '/.']
const notAnAddress = 'must be a DNS name, not an IP address'

export const INGRESS_RULES: KindRules = {
  checksMetadataAgain: true,
  generationOf: ['spec'],
  check: (ingress) => [...checkIngressSpec(struct(ingress, 'spec') ?? {}), ...checkClassAnnotation(ingress)],
  checkUpdate: (ingress) => checkIngressSpec(struct(ingress, 'spec') ?? {}),
}

export const INGRESS_CLASS_RULES: KindRules = {
  checksMetadataAgain: true,
  generationOf: ['spec'],
  check: checkIngressClass,
  checkUpdate: (object, old) => [
    ...checkImmutable(
      text(struct(object, 'spec'), 'controller'),
      text(struct(old, 'spec'), 'controller'),
      'spec.controller',
    ),
    ...checkIngressClass(object),
  ],
}

function checkIngressSpec(spec: Fields): FieldError[] {
  const backend = struct(spec, 'defaultBackend')
  const rules = structs(spec, 'rules')
  const missing = 'either `defaultBackend` or `rules` must be specified'
  return [
    ...(rules.length === 0 && backend === undefined ? [invalidField('spec', spec['rules'] ?? null, missing)] : []),
    ...(backend === undefined ? [] : checkBackend(backend, 'spec.defaultBackend')),
    ...checkEach(rules, 'spec.rules', (rule, at) => [
      ...checkHost(text(rule, 'host'), `${at}.host`),
      ...(has(rule, 'http') ? checkPaths(structs(struct(rule, 'http'), 'paths'), `${at}.http.paths`) : []),
    ]),
    ...checkEach(structs(spec, 'tls'), 'spec.tls', (tls, at) => [
      ...checkEach(texts(tls, 'hosts'), `${at}.hosts`, checkDomain),
      ...(text(tls, 'secretName') === '' ? [] : checkName(text(tls, 'secretName'), `${at}.secretName`, dnsSubdomain)),
    ]),
    ...(has(spec, 'ingressClassName')
      ? checkName(text(spec, 'ingressClassName'), 'spec.ingressClassName', dnsSubdomain)
      : []),
  ]
}

function checkHost(host: string, path: string): FieldError[] {
  if (host === '') return []
  const address = ipFamily(host) === undefined ? [] : [invalidField(path, host, notAnAddress)]
  return [...address, ...checkDomain(host, path)]
}

function checkDomain(host: string, path: string): FieldError[] {
  return checkName(host, path, host.includes('*') ? wildcardSubdomain : dnsSubdomain)
}

function checkPaths(paths: readonly Fields[], path: string): FieldError[] {
  if (paths.length === 0) return [requiredField(path)]
  return checkEach(paths, path, (entry, at) => {
    if (!has(entry, 'pathType')) return [requiredField(`${at}.pathType`, 'pathType must be specified')]
    return [...checkPath(entry, at), ...checkBackend(struct(entry, 'backend') ?? {}, `${at}.backend`)]
  })
}

function checkPath(entry: Fields, at: string): FieldError[] {
  const [type, path] = [text(entry, 'pathType'), text(entry, 'path')]
  const relative = path.startsWith('/') ? [] : [invalidField(`${at}.path`, path, 'must be an absolute path')]
  if (type === 'ImplementationSpecific') return path === '' ? [] : relative
  if (type !== 'Exact' && type !== 'Prefix') {
    return [notSupportedField(`${at}.pathType`, type, ['Exact', 'ImplementationSpecific', 'Prefix'])]
  }
  const inside = refusedSequences.filter((sequence) => path.includes(sequence))
  const atEnd = refusedEnds.filter((end) => path.endsWith(end))
  return [
    ...relative,
    ...inside.map((sequence) => invalidField(`${at}.path`, path, `must not contain '${sequence}'`)),
    ...atEnd.map((end) => invalidField(`${at}.path`, path, `cannot end with '${end}'`)),
  ]
}

function checkBackend(backend: Fields, path: string): FieldError[] {
  const [resource, service] = [struct(backend, 'resource'), struct(backend, 'service')]
  if (resource !== undefined && service !== undefined) {
    return [invalidField(path, '', 'cannot set both resource and service backends')]
  }
  if (resource !== undefined) return checkReference(resource, `${path}.resource`)
  if (service === undefined) return [invalidField(path, '', 'resource or service backend is required')]
  return [
    ...checkRequiredName(text(service, 'name'), `${path}.service.name`, dnsLabel),
    ...checkServicePort(struct(service, 'port'), path),
  ]
}

function checkServicePort(port: Fields | undefined, path: string): FieldError[] {
  const [name, number] = [text(port, 'name'), integer(port, 'number') ?? 0]
  if (name !== '' && number !== 0) return [invalidField(path, '', 'cannot set both port name & port number')]
  if (name !== '') return checkName(name, `${path}.service.port.name`, portName)
  if (number !== 0) return checkNumber(number, `${path}.service.port.number`, portNumber)
  return [requiredField(path, 'port name or number is required')]
}

function checkReference(reference: Fields, path: string): FieldError[] {
  return [
    ...(has(reference, 'apiGroup') ? checkName(text(reference, 'apiGroup'), `${path}.apiGroup`, dnsSubdomain) : []),
    ...checkRequiredName(text(reference, 'kind'), `${path}.kind`, pathSegment),
    ...checkRequiredName(text(reference, 'name'), `${path}.name`, pathSegment),
  ]
}

function checkClassAnnotation(ingress: Fields): FieldError[] {
  const annotation = textMap(struct(ingress, 'metadata'), 'annotations')[classAnnotation]
  const spec = struct(ingress, 'spec')
  const differs = has(spec, 'ingressClassName') && annotation !== text(spec, 'ingressClassName')
  if (annotation === undefined || !differs) return []
  const detail = 'must match `ingressClassName` when both are specified'
  return [invalidField(`annotations.${classAnnotation}`, annotation, detail)]
}

function checkIngressClass(object: Fields): FieldError[] {
  const spec = struct(object, 'spec')
  const controller = text(spec, 'controller')
  const parameters = struct(spec, 'parameters')
  const tooLong = controller.length > MAX_INGRESS_CONTROLLER_LENGTH
  const scope = text(parameters, 'scope')
  return [
    ...(tooLong ? [tooLongField('spec.controller', MAX_INGRESS_CONTROLLER_LENGTH)] : []),
    ...checkController(controller, 'spec.controller'),
    ...(parameters === undefined ? [] : checkReference(parameters, 'spec.parameters')),
    ...(parameters === undefined ? [] : checkSupported(scope, 'spec.parameters.scope', ['Cluster', 'Namespace'])),
    ...(scope === 'Namespace' && text(parameters, 'namespace') === ''
      ? [requiredField('spec.parameters.namespace', "`parameters.scope` is set to 'Namespace'")]
      : []),
  ]
}

function checkController(controller: string, path: string): FieldError[] {
  if (controller === '') return [requiredField(path)]
  const slash = controller.indexOf('/')
  const [host, rest] = [controller.slice(0, slash), controller.slice(slash + 1)]
  if (slash <= 0 || rest === '') {
    return [invalidField(path, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  }
  const pattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
  const plain = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(rest)
  return [
    ...checkName(host, path, dnsSubdomain),
    ...(plain ? [] : [invalidField(path, rest, explain('Invalid path', pattern))]),
  ]
}

/** ValidatingWebhookConfigurations and MutatingWebhookConfigurations. */
import { duplicateField, type FieldError, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkEach, checkName, checkNumber, checkRequired, checkSupported, repetitions } from '../checks.ts'
import { type Fields, has, integer, struct, structs, text, texts } from '../fields.ts'
import { checkLabelSelector } from '../label-selector.ts'
import { dns1035Label, dnsSubdomain, portNumber } from '../names.ts'
import type { KindRules } from '../rules.ts'

const MAX_WEBHOOK_SECONDS = 30

const urlForm = '; desired format: https://host[/path]'
const reviewVersions = ['v1', 'v1beta1']
const sideEffects = ['None', 'NoneOnDryRun']
const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

export const WEBHOOK_CONFIGURATION_RULES: KindRules = {
  generationOf: ['webhooks'],
  allowsUnconditionalUpdate: false,
  check(configuration) {
    const names = new Set<string>()
    return checkEach(structs(configuration, 'webhooks'), 'webhooks', (hook, at) => {
      const name = text(hook, 'name')
      const repeated = name !== '' && names.has(name) ? [duplicateField(`${at}.name`, name)] : []
      names.add(name)
      return [...checkHook(hook, at), ...checkReviewVersions(hook, `${at}.admissionReviewVersions`), ...repeated]
    })
  },
}

function checkHook(hook: Fields, path: string): FieldError[] {
  const optional = (name: string, supported: readonly string[]): FieldError[] =>
    has(hook, name) ? checkSupported(text(hook, name), `${path}.${name}`, supported) : []
  const seconds = integer(hook, 'timeoutSeconds') ?? 1
  const noEffects = requiredField(`${path}.sideEffects`, `must specify one of ${sideEffects.join(', ')}`)
  return [
    ...checkHookName(text(hook, 'name'), `${path}.name`),
    ...checkEach(structs(hook, 'rules'), `${path}.rules`, checkRule),
    ...optional('failurePolicy', ['Fail', 'Ignore']),
    ...optional('matchPolicy', ['Equivalent', 'Exact']),
    ...(has(hook, 'sideEffects') ? optional('sideEffects', sideEffects) : [noEffects]),
    ...(seconds < 1 || seconds > MAX_WEBHOOK_SECONDS
      ? [invalidField(`${path}.timeoutSeconds`, seconds, 'the timeout value must be between 1 and 30 seconds')]
      : []),
    ...checkLabelSelector(struct(hook, 'namespaceSelector'), `${path}.namespaceSelector`),
    ...checkLabelSelector(struct(hook, 'objectSelector'), `${path}.objectSelector`),
    ...optional('reinvocationPolicy', ['IfNeeded', 'Never']),
    ...checkClient(struct(hook, 'clientConfig') ?? {}, `${path}.clientConfig`),
  ]
}

function checkHookName(name: string, path: string): FieldError[] {
  if (name === '') return [requiredField(path)]
  const breaches = dnsSubdomain(name)
  if (breaches.length > 0) return [invalidField(path, name, breaches.join(','))]
  const detail = 'should be a domain with at least three segments separated by dots'
  return name.split('.').length < 3 ? [invalidField(path, name, detail)] : []
}

function checkRule(rule: Fields, path: string): FieldError[] {
  const listed = texts(rule, 'operations')
  return [
    ...(listed.length === 0 ? [requiredField(`${path}.operations`)] : []),
    ...checkAlone(listed, `${path}.operations`, 'operations'),
    ...checkEach(listed, `${path}.operations`, (operation, at) => checkSupported(operation, at, operations)),
    ...checkNamed(rule, 'apiGroups', 'API groups', path, true),
    ...checkNamed(rule, 'apiVersions', 'API versions', path, false),
    ...checkResources(texts(rule, 'resources'), `${path}.resources`),
    ...(has(rule, 'scope') ? checkSupported(text(rule, 'scope'), `${path}.scope`, ['*', 'Cluster', 'Namespaced']) : []),
  ]
}

function checkAlone(values: readonly string[], path: string, what: string): FieldError[] {
  const crowded = values.length > 1 && values.includes('*')
  return crowded ? [invalidField(path, values, `if '*' is present, must not specify other ${what}`)] : []
}

function checkNamed(rule: Fields, name: string, what: string, path: string, allowsEmpty: boolean): FieldError[] {
  const [values, at] = [texts(rule, name), `${path}.${name}`]
  return [
    ...(values.length === 0 ? [requiredField(at)] : []),
    ...checkAlone(values, at, what),
    ...(allowsEmpty ? [] : checkEach(values, at, (value, valueAt) => checkRequired(value, valueAt))),
  ]
}

function checkResources(resources: readonly string[], path: string): FieldError[] {
  const plain = resources.filter((resource) => !resource.includes('/') && resource !== '*')
  const errors = resources.length === 0 ? [requiredField(path)] : []
  errors.push(...checkEach(resources, path, (resource, at) => checkRequired(resource, at)))
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(invalidField(path, resources, "if '*/*' is present, must not specify other resources"))
  }
  if (resources.includes('*') && plain.length > 0) {
    const detail = "if '*' is present, must not specify other resources without subresources"
    errors.push(invalidField(path, resources, detail))
  }
  return errors
}

function checkReviewVersions(hook: Fields, path: string): FieldError[] {
  const versions = texts(hook, 'admissionReviewVersions')
  if (versions.length === 0) return [requiredField(path, `must specify one of ${reviewVersions.join(', ')}`)]
  const isRepeated = repetitions()
  const errors = checkEach(versions, path, (version, at) =>
    isRepeated(version) ? [invalidField(at, version, 'duplicate version')] : checkName(version, at, dns1035Label),
  )
  if (!versions.some((version) => reviewVersions.includes(version))) {
    errors.push(invalidField(path, versions, `must include at least one of ${reviewVersions.join(', ')}`))
  }
  return errors
}

function checkClient(client: Fields, path: string): FieldError[] {
  const service = struct(client, 'service')
  if (has(client, 'url') === (service !== undefined)) {
    return [requiredField(path, 'exactly one of url or service is required')]
  }
  return service === undefined ? checkUrl(text(client, 'url'), `${path}.url`) : checkService(service, `${path}.service`)
}

function checkUrl(url: string, path: string): FieldError[] {
  const [, scheme = '', user = '', host = '', query = '', fragment = ''] =
    /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/(?:([^/?#@]*)@)?([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/i.exec(url) ?? []
  const errors: FieldError[] = []
  if (scheme !== 'https') errors.push(invalidField(path, scheme, `'https' is the only allowed URL scheme${urlForm}`))
  if (host === '') errors.push(invalidField(path, host, `host must be specified${urlForm}`))
  const refused = { 'user information is': user, 'fragments are': fragment, 'query parameters are': query }
  for (const [what, value] of Object.entries(refused)) {
    if (value !== '') errors.push(invalidField(path, value, `${what} not permitted in the URL`))
  }
  return errors
}

/** The API server mixes up the two names here: the missing one is reported as the other. */
function checkService(service: Fields, path: string): FieldError[] {
  return [
    ...checkRequired(text(service, 'namespace'), `${path}.name`),
    ...checkRequired(text(service, 'name'), `${path}.namespace`),
    ...checkNumber(integer(service, 'port') ?? 0, `${path}.port`, (port) =>
      portNumber(port).map((breach) => `port is not valid: ${breach}`),
    ),
    ...checkUrlPath(text(service, 'path'), `${path}.path`),
  ]
}

function checkUrlPath(urlPath: string, path: string): FieldError[] {
  if (urlPath === '' || urlPath === '/') return []
  const absolute = urlPath.startsWith('/') ? [] : [invalidField(path, urlPath, "must start with a '/'")]
  const steps = urlPath.slice(1).replace(/\/$/, '').split('/')
  return [
    ...absolute,
    ...steps.flatMap((step, index) => {
      if (step === '') return [invalidField(path, urlPath, `segment[${index}] may not be empty`)]
      return dnsSubdomain(step).map((breach) => invalidField(path, urlPath, `segment[${index}]: ${breach}`))
    }),
  ]
}

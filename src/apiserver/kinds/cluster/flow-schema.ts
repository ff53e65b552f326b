/** FlowSchemas: which requests belong together. */
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkEach, checkName, checkRequiredName } from '../checks.ts'
import { type Fields, flag, has, integer, struct, structs, text, texts } from '../fields.ts'
import { dnsLabel, dnsSubdomain } from '../names.ts'
import type { KindRules } from '../rules.ts'

const MAX_MATCHING_PRECEDENCE = 10_000

const everything = '*'
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']
const subjectFields = { Group: 'group', ServiceAccount: 'serviceAccount', User: 'user' } as const

export const FLOW_SCHEMA_RULES: KindRules = {
  generationOf: ['spec'],
  statusMetadata: 'kept',
  check: checkFlowSchema,
}

function checkFlowSchema(schema: Fields): FieldError[] {
  const spec = struct(schema, 'spec') ?? {}
  const precedence = integer(spec, 'matchingPrecedence') ?? 0
  const at = 'spec.matchingPrecedence'
  const errors: FieldError[] = []
  if (precedence <= 0) errors.push(invalidField(at, precedence, 'must be a positive value'))
  if (precedence > MAX_MATCHING_PRECEDENCE) {
    errors.push(invalidField(at, precedence, `must not be greater than ${MAX_MATCHING_PRECEDENCE}`))
  }
  if (precedence === 1 && text(struct(schema, 'metadata'), 'name') !== 'exempt') {
    errors.push(invalidField(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
  }
  const method = struct(spec, 'distinguisherMethod')
  const methods = ['ByNamespace', 'ByUser']
  if (method !== undefined && !methods.includes(text(method, 'type'))) {
    errors.push(notSupportedField('spec.distinguisherMethod.type', { Type: text(method, 'type') }, methods))
  }
  const level = text(struct(spec, 'priorityLevelConfiguration'), 'name')
  return [
    ...errors,
    ...checkRequiredName(
      level,
      'spec.priorityLevelConfiguration.name',
      dnsSubdomain,
      'must reference a priority level',
    ),
    ...checkEach(structs(spec, 'rules'), 'spec.rules', checkRule),
  ]
}

function checkRule(rule: Fields, path: string): FieldError[] {
  const subjects = structs(rule, 'subjects')
  const [resourceRules, urlRules] = [structs(rule, 'resourceRules'), structs(rule, 'nonResourceRules')]
  const empty = 'at least one of resourceRules and nonResourceRules has to be non-empty'
  return [
    ...(subjects.length === 0
      ? [requiredField(`${path}.subjects`, 'subjects must contain at least one value')]
      : checkEach(subjects, `${path}.subjects`, checkSubject)),
    ...(resourceRules.length + urlRules.length === 0 ? [requiredField(path, empty)] : []),
    ...checkEach(resourceRules, `${path}.resourceRules`, checkResourceRule),
    ...checkEach(urlRules, `${path}.nonResourceRules`, checkUrlRule),
  ]
}

function checkSubject(subject: Fields, path: string): FieldError[] {
  const kind = text(subject, 'kind')
  const own = Object.entries(subjectFields).find(([name]) => name === kind)?.[1]
  if (own === undefined) return [notSupportedField(`${path}.kind`, kind, Object.keys(subjectFields))]
  const others = Object.entries(subjectFields).filter(([name, field]) => name !== kind && has(subject, field))
  const details = struct(subject, own)
  const errors =
    details === undefined
      ? [requiredField(`${path}.${own}`, `${own} is required when subject kind is '${kind}'`)]
      : checkSubjectName(details, kind, `${path}.${own}`)
  return [
    ...errors,
    ...others.map(([name, field]) =>
      forbiddenField(`${path}.${field}`, `${field} is forbidden when subject kind is not '${name}'`),
    ),
  ]
}

function checkSubjectName(details: Fields, kind: string, path: string): FieldError[] {
  const name = text(details, 'name')
  const missing = name === '' ? [requiredField(`${path}.name`)] : []
  if (kind !== 'ServiceAccount') return missing
  const namespaceDetail = 'must specify namespace for service account'
  return [
    ...missing,
    ...(name === '' || name === everything ? [] : checkName(name, `${path}.name`, dnsSubdomain)),
    ...checkRequiredName(text(details, 'namespace'), `${path}.namespace`, dnsLabel, namespaceDetail),
  ]
}

/** A list that says `*` says nothing else. */
function checkAlone(values: readonly string[], path: string, what: string): FieldError[] {
  return values.length > 1 && values.includes(everything)
    ? [invalidField(path, values, `if '*' is present, must not specify other ${what}`)]
    : []
}

function checkVerbs(rule: Fields, path: string): FieldError[] {
  const listed = texts(rule, 'verbs')
  if (listed.length === 0) return [requiredField(path, 'verbs must contain at least one value')]
  if (listed.includes(everything)) return checkAlone(listed, path, 'verbs')
  return listed.every((verb) => verbs.includes(verb)) ? [] : [notSupportedField(path, listed, verbs)]
}

function checkResourceRule(rule: Fields, path: string): FieldError[] {
  const [groups, resources, namespaces] = [
    texts(rule, 'apiGroups'),
    texts(rule, 'resources'),
    texts(rule, 'namespaces'),
  ]
  const intro = "each member of this list must be '*' or a DNS-1123 label; "
  const noNamespace = 'resource rules that are not cluster scoped must supply at least one namespace'
  return [
    ...checkVerbs(rule, `${path}.verbs`),
    ...(groups.length === 0
      ? [requiredField(`${path}.apiGroups`, 'resource rules must supply at least one api group')]
      : checkAlone(groups, `${path}.apiGroups`, 'api groups')),
    ...(resources.length === 0
      ? [requiredField(`${path}.resources`, 'resource rules must supply at least one resource')]
      : checkAlone(resources, `${path}.resources`, 'resources')),
    ...(namespaces.length === 0 && !flag(rule, 'clusterScope')
      ? [requiredField(`${path}.namespaces`, noNamespace)]
      : []),
    ...(namespaces.includes(everything)
      ? checkAlone(namespaces, `${path}.namespaces`, 'namespaces')
      : checkEach(namespaces, `${path}.namespaces`, (name, at) =>
          dnsLabel(name).map((breach) => invalidField(at, name, intro + breach)),
        )),
  ]
}

function checkUrlRule(rule: Fields, path: string): FieldError[] {
  const urls = texts(rule, 'nonResourceURLs')
  const at = `${path}.nonResourceURLs`
  const errors = checkVerbs(rule, `${path}.verbs`)
  if (urls.length === 0) return [...errors, requiredField(at, 'nonResourceURLs must contain at least one value')]
  if (urls.includes(everything)) return [...errors, ...checkAlone(urls, at, 'non-resource URLs')]
  return [...errors, ...checkEach(urls, at, (url, urlAt) => checkName(url, urlAt, urlPathBreaches))]
}

function urlPathBreaches(path: string): string[] {
  if (path === '') return ['must not be empty']
  if (path === '/') return []
  if (!path.startsWith('/')) return ['must start with slash']
  if (path.includes(' ')) return ['must not contain white-space']
  if (path.includes('//')) return ['must not contain double slash']
  const stars = path.split('*').length - 1
  return stars > 1 || (stars === 1 && !path.endsWith('/*')) ? ['wildcard can only do suffix matching'] : []
}

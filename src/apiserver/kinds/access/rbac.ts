/** Roles and bindings. */
import { type FieldError, invalidField, notSupportedField, requiredField } from '../../../kube/status/field-error.ts'
import { checkEach, checkName, checkRequiredName, checkSupported } from '../checks.ts'
import { sameValue } from '../equality.ts'
import { type Fields, struct, structs, text, texts } from '../fields.ts'
import { checkLabelSelector } from '../label-selector.ts'
import { dnsSubdomain, pathSegment } from '../names.ts'
import type { KindRules } from '../rules.ts'

const group = 'rbac.authorization.k8s.io'
const subjectKinds = ['ServiceAccount', 'User', 'Group']

const common = { name: pathSegment, allowsCreateOnUpdate: true, checksMetadataAgain: true } as const

export const ROLE_RULES: KindRules = { ...common, check: (role) => checkRules(role, true) }

export const CLUSTER_ROLE_RULES: KindRules = {
  ...common,
  check: (role) => [...checkRules(role, false), ...checkAggregation(struct(role, 'aggregationRule'))],
}

export const ROLE_BINDING_RULES: KindRules = bindingRules(true)
export const CLUSTER_ROLE_BINDING_RULES: KindRules = bindingRules(false)

function checkRules(role: Fields, isNamespaced: boolean): FieldError[] {
  return checkEach(structs(role, 'rules'), 'rules', (rule, at) => {
    const errors =
      texts(rule, 'verbs').length === 0 ? [requiredField(`${at}.verbs`, 'verbs must contain at least one value')] : []
    const urls = texts(rule, 'nonResourceURLs')
    if (urls.length > 0) return [...errors, ...checkUrls(rule, urls, isNamespaced, `${at}.nonResourceURLs`)]
    if (texts(rule, 'apiGroups').length === 0) {
      errors.push(requiredField(`${at}.apiGroups`, 'resource rules must supply at least one api group'))
    }
    if (texts(rule, 'resources').length === 0) {
      errors.push(requiredField(`${at}.resources`, 'resource rules must supply at least one resource'))
    }
    return errors
  })
}

function checkUrls(rule: Fields, urls: readonly string[], isNamespaced: boolean, path: string): FieldError[] {
  const mixed = ['apiGroups', 'resources', 'resourceNames'].some((name) => texts(rule, name).length > 0)
  return [
    ...(isNamespaced ? [invalidField(path, urls, 'namespaced rules cannot apply to non-resource URLs')] : []),
    ...(mixed ? [invalidField(path, urls, 'rules cannot apply to both regular resources and non-resource URLs')] : []),
  ]
}

function checkAggregation(rule: Fields | undefined): FieldError[] {
  if (rule === undefined) return []
  const path = 'aggregationRule.clusterRoleSelectors'
  const selectors = structs(rule, 'clusterRoleSelectors')
  const detail = 'at least one clusterRoleSelector required if aggregationRule is non-nil'
  if (selectors.length === 0) return [requiredField(path, detail)]
  return checkEach(selectors, path, checkLabelSelector)
}

function bindingRules(isNamespaced: boolean): KindRules {
  const check = (binding: Fields): FieldError[] => [
    ...checkRoleRef(struct(binding, 'roleRef') ?? {}, isNamespaced),
    ...checkEach(structs(binding, 'subjects'), 'subjects', (subject, at) => checkSubject(subject, isNamespaced, at)),
  ]
  return {
    ...common,
    check,
    checkUpdate: (binding, old) => [
      ...check(binding),
      ...(sameValue(binding['roleRef'], old['roleRef'])
        ? []
        : [invalidField('roleRef', asInternal(struct(binding, 'roleRef')), 'cannot change roleRef')]),
    ],
  }
}

/** The API server shows the reference with the names of its Go fields. */
function asInternal(roleRef: Fields | undefined): Fields {
  return { APIGroup: text(roleRef, 'apiGroup'), Kind: text(roleRef, 'kind'), Name: text(roleRef, 'name') }
}

function checkRoleRef(roleRef: Fields, isNamespaced: boolean): FieldError[] {
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']
  return [
    ...checkSupported(text(roleRef, 'apiGroup'), 'roleRef.apiGroup', [group]),
    ...checkSupported(text(roleRef, 'kind'), 'roleRef.kind', kinds),
    ...checkRequiredName(text(roleRef, 'name'), 'roleRef.name', pathSegment),
  ]
}

function checkSubject(subject: Fields, isNamespaced: boolean, path: string): FieldError[] {
  const [kind, name, apiGroup] = [text(subject, 'kind'), text(subject, 'name'), text(subject, 'apiGroup')]
  const errors = name === '' ? [requiredField(`${path}.name`)] : []
  if (kind === 'ServiceAccount') {
    if (name !== '') errors.push(...checkName(name, `${path}.name`, dnsSubdomain))
    if (apiGroup !== '') errors.push(notSupportedField(`${path}.apiGroup`, apiGroup, ['']))
    if (!isNamespaced && text(subject, 'namespace') === '') errors.push(requiredField(`${path}.namespace`))
  } else if (!subjectKinds.includes(kind)) errors.push(notSupportedField(`${path}.kind`, kind, subjectKinds))
  else errors.push(...checkSupported(apiGroup, `${path}.apiGroup`, [group]))
  return errors
}

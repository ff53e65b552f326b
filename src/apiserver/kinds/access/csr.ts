/** CertificateSigningRequests. What the request asks for is read where certificates are signed. */
import { readPem } from '../../../identity/pem.ts'
import { formatTime } from '../../../kube/codec/time.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
  tooLongField,
} from '../../../kube/status/field-error.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import { checkEach, checkSupported, repetitions } from '../checks.ts'
import { sameValue } from '../equality.ts'
import { copyField, ensureStruct, type Fields, has, integer, struct, structs, text, texts } from '../fields.ts'
import { dnsLabel, dnsSubdomain, MAX_DNS_SUBDOMAIN_LENGTH } from '../names.ts'
import { specDifference } from '../pods/spec-difference.ts'
import type { KindRules } from '../rules.ts'
import type { WriteContext } from '../strategy.ts'
import { CERTIFICATE_USAGES } from './certificate-usages.ts'

const MIN_CERTIFICATE_SECONDS = 600

const legacySigner = 'kubernetes.io/legacy-unknown'
const finalConditions = ['Approved', 'Denied', 'Failed']
const approvalConditions = ['Approved', 'Denied']

export const CSR_RULES: KindRules = {
  name: () => [],
  checksMetadataAgain: true,
  prepareForCreate: recordRequester,
  statusSubresource: 'approval',
  prepareForUpdate(csr, old, context) {
    copyField(csr, old, 'spec')
    if (context.subresource !== 'approval') return
    const conditions = struct(csr, 'status')?.['conditions'] ?? []
    csr['status'] = { ...structuredClone(struct(old, 'status')), conditions }
    stampConditions(csr, old, context)
  },
  prepareForStatusUpdate(csr, old, context) {
    for (const type of approvalConditions) keepConditions(csr, old, type)
    stampConditions(csr, old, context)
  },
  check: (csr) => checkRequest(csr, undefined),
  checkUpdate: (csr, old, { subresource }) => [
    ...checkRequest(csr, old),
    ...checkConditionUpdate(csr, old, subresource === 'approval'),
    ...checkCertificateUpdate(csr, old, false),
  ],
  checkStatusUpdate: (csr, old) => [
    ...checkRequest(csr, old),
    ...checkConditionUpdate(csr, old, false),
    ...checkCertificateUpdate(csr, old, true),
  ],
}

/** Who asks is what the server knows, whatever the client wrote. */
function recordRequester(csr: KubeObject, { user }: WriteContext): void {
  const spec = ensureStruct(csr, 'spec')
  for (const name of ['username', 'uid', 'groups', 'extra']) delete spec[name]
  if (user.name !== '') spec['username'] = user.name
  if (user.uid !== '') spec['uid'] = user.uid
  if (user.groups.length > 0) spec['groups'] = [...user.groups]
  if (Object.keys(user.extra).length > 0) spec['extra'] = structuredClone(user.extra)
}

function conditionsOf(csr: Fields, type: string): Fields[] {
  return structs(struct(csr, 'status'), 'conditions').filter((condition) => text(condition, 'type') === type)
}

function keepConditions(csr: Fields, old: Fields, type: string): void {
  const [now, before] = [conditionsOf(csr, type), conditionsOf(old, type)]
  if (now.length !== before.length) return
  for (const [index, condition] of now.entries()) {
    for (const name of Object.keys(condition)) delete condition[name]
    Object.assign(condition, structuredClone(before[index]))
  }
}

function stampConditions(csr: Fields, old: Fields, { nowMs }: WriteContext): void {
  const now = formatTime(Math.floor(nowMs / 1000))
  const transitions = new Map<string, unknown>()
  for (const before of structs(struct(old, 'status'), 'conditions').toReversed()) {
    if (has(before, 'lastTransitionTime')) transitions.set(conditionKey(before), before['lastTransitionTime'])
  }
  for (const condition of structs(struct(csr, 'status'), 'conditions')) {
    if (!has(condition, 'lastUpdateTime')) condition['lastUpdateTime'] = now
    if (has(condition, 'lastTransitionTime')) continue
    condition['lastTransitionTime'] = transitions.get(conditionKey(condition)) ?? now
  }
}

function conditionKey(condition: Fields): string {
  return `${text(condition, 'type')} ${text(condition, 'status')}`
}

/** What was already wrong before an update may stay wrong. */
function checkRequest(csr: Fields, old: Fields | undefined): FieldError[] {
  const spec = struct(csr, 'spec') ?? {}
  const listed = texts(spec, 'usages')
  const isRepeated = repetitions()
  const sameUsages = sameValue(struct(old, 'spec')?.['usages'], spec['usages']) && old !== undefined
  const seconds = integer(spec, 'expirationSeconds')
  const short = 'may not specify a duration less than 600 seconds (10 minutes)'
  return [
    ...checkRequestText(text(spec, 'request'), 'spec.request'),
    ...(listed.length === 0 ? [requiredField('spec.usages')] : []),
    ...(sameUsages
      ? []
      : checkEach(listed, 'spec.usages', (usage, at) => checkSupported(usage, at, CERTIFICATE_USAGES))),
    ...(sameUsages
      ? []
      : checkEach(listed, 'spec.usages', (usage, at) => (isRepeated(usage) ? [duplicateField(at, usage)] : []))),
    ...checkSigner(text(spec, 'signerName'), text(struct(old, 'spec'), 'signerName'), 'spec.signerName'),
    ...(seconds !== undefined && seconds < MIN_CERTIFICATE_SECONDS
      ? [invalidField('spec.expirationSeconds', seconds, short)]
      : []),
    ...checkConditions(csr, 'status.conditions'),
  ]
}

function checkRequestText(request: string, path: string): FieldError[] {
  return firstPemLabel(Buffer.from(request, 'base64')) === 'CERTIFICATE REQUEST'
    ? []
    : [invalidField(path, request, 'PEM block type must be CERTIFICATE REQUEST')]
}

function firstPemLabel(pem: Buffer): string | undefined {
  try {
    return readPem(pem, 'the request')[0]?.label
  } catch {
    // What cannot be read has no label.
    return undefined
  }
}

function checkSigner(signer: string, oldSigner: string, path: string): FieldError[] {
  if (signer === legacySigner && oldSigner !== legacySigner) {
    return [invalidField(path, signer, 'the legacy signerName is not allowed via this API version')]
  }
  return checkSignerName(signer, path)
}

function checkSignerName(signer: string, path: string): FieldError[] {
  if (signer === '') return [requiredField(path)]
  const [domain = '', name, ...rest] = signer.split('/')
  if (name === undefined || rest.length > 0) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
    return [invalidField(path, signer, detail)]
  }
  const errors = domain.length > MAX_DNS_SUBDOMAIN_LENGTH ? [tooLongField(path, MAX_DNS_SUBDOMAIN_LENGTH)] : []
  errors.push(...checkSignerLabels(domain, dnsLabel, path))
  if (!domain.includes('.')) {
    errors.push(invalidField(path, domain, 'should be a domain with at least two segments separated by dots'))
  }
  return [...errors, ...checkSignerLabels(name, dnsSubdomain, path)]
}

/** Only the first bad label is named. */
function checkSignerLabels(part: string, rule: (label: string) => string[], path: string): FieldError[] {
  const bad = part.split('.').find((label) => rule(label).length > 0)
  if (bad === undefined) return []
  return rule(bad).map((breach) => invalidField(path, part, `validating label ${goQuote(bad)}: ${breach}`))
}

function checkConditions(csr: Fields, path: string): FieldError[] {
  const seen = new Set<string>()
  return checkEach(structs(struct(csr, 'status'), 'conditions'), path, (condition, at) => {
    const [type, status] = [text(condition, 'type'), text(condition, 'status')]
    const allowed = finalConditions.includes(type) ? ['True'] : ['False', 'True', 'Unknown']
    const errors = type === '' ? [requiredField(`${at}.type`)] : []
    if (status === '') errors.push(requiredField(`${at}.status`))
    else if (!allowed.includes(status)) errors.push(notSupportedField(`${at}.status`, status, allowed))
    const opposite = { Approved: 'Denied', Denied: 'Approved' }[type]
    if (opposite !== undefined && seen.has(opposite)) {
      errors.push(invalidField(path, type, 'Approved and Denied conditions are mutually exclusive'))
    }
    if (seen.has(type)) errors.push(duplicateField(`${at}.type`, type))
    seen.add(type)
    return errors
  })
}

/** A verdict is final, and only the subresource for approvals may speak one. */
function checkConditionUpdate(csr: Fields, old: Fields, mayApprove: boolean): FieldError[] {
  const path = 'status.conditions'
  const counts = (type: string): [number, number] => [conditionsOf(csr, type).length, conditionsOf(old, type).length]
  const removed = finalConditions.filter((type) => counts(type)[0] < counts(type)[1])
  const errors = removed.map((type) =>
    forbiddenField(path, `updates may not remove a condition of type ${goQuote(type)}`),
  )
  if (mayApprove) return errors
  for (const type of approvalConditions) {
    const [now, before] = counts(type)
    if (now > before) {
      errors.push(forbiddenField(path, `updates may not add a condition of type ${goQuote(type)}`))
    } else if (now === before && !sameValue(conditionsOf(csr, type), conditionsOf(old, type))) {
      const difference = specDifference(conditionsOf(old, type), conditionsOf(csr, type))
      errors.push(forbiddenField(path, `updates may not modify a condition of type ${goQuote(type)}\n${difference}`))
    }
  }
  return errors
}

function checkCertificateUpdate(csr: Fields, old: Fields, mayIssue: boolean): FieldError[] {
  const [now, before] = [text(struct(csr, 'status'), 'certificate'), text(struct(old, 'status'), 'certificate')]
  if (now === before) return []
  if (!mayIssue) return [forbiddenField('status.certificate', 'updates may not set certificate content')]
  return before === ''
    ? []
    : [forbiddenField('status.certificate', 'updates may not modify existing certificate content')]
}

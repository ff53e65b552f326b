/** ConfigMaps and Secrets: keys, sizes, and contents that are sealed once they are marked immutable. */
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  tooLongField,
} from '../../../kube/status/field-error.ts'
import { checkImmutable, checkName } from '../checks.ts'
import { sameValue } from '../equality.ts'
import { type Fields, flag, has, struct, text, textMap } from '../fields.ts'
import { configKey } from '../names.ts'
import type { KindRules } from '../rules.ts'

/** All values of one object together. */
const MAX_DATA_BYTES = 1024 * 1024

const redacted = '<secret contents redacted>'
const accountAnnotation = 'kubernetes.io/service-account.name'

export const CONFIG_MAP_RULES: KindRules = {
  checksMetadataAgain: true,
  check: checkConfigMap,
  checkUpdate: (object, old) => [...checkSealed(object, old, ['data', 'binaryData']), ...checkConfigMap(object)],
}

export const SECRET_RULES: KindRules = {
  checksMetadataAgain: true,
  prepareForUpdate(object, old) {
    if (text(object, 'type') === '') object['type'] = old['type']
  },
  check: checkSecret,
  checkUpdate: (object, old) => [
    ...checkImmutable(text(object, 'type'), text(old, 'type'), 'type'),
    ...checkSealed(object, old, ['data']),
    ...checkSecret(object),
  ],
}

function checkConfigMap(object: Fields): FieldError[] {
  const binary = struct(object, 'binaryData') ?? {}
  const errors = Object.keys(textMap(object, 'data')).flatMap((key) => [
    ...checkName(key, `data[${key}]`, configKey),
    ...(Object.hasOwn(binary, key)
      ? [invalidField(`data[${key}]`, key, 'duplicate of key present in binaryData')]
      : []),
  ])
  errors.push(...Object.keys(binary).flatMap((key) => checkName(key, `binaryData[${key}]`, configKey)))
  const textBytes = Object.values(textMap(object, 'data')).reduce((sum, value) => sum + Buffer.byteLength(value), 0)
  if (textBytes + decodedBytes(object, 'binaryData') > MAX_DATA_BYTES) errors.push(tooLongField('[]', MAX_DATA_BYTES))
  return errors
}

function checkSecret(object: Fields): FieldError[] {
  const errors = Object.keys(textMap(object, 'data')).flatMap((key) => checkName(key, `data[${key}]`, configKey))
  if (decodedBytes(object, 'data') > MAX_DATA_BYTES) errors.push(tooLongField('data', MAX_DATA_BYTES))
  return [...errors, ...checkContentOfType(object, struct(object, 'data') ?? {})]
}

function decodedBytes(object: Fields, name: string): number {
  return Object.values(textMap(object, name)).reduce((sum, value) => sum + Buffer.byteLength(value, 'base64'), 0)
}

function checkContentOfType(object: Fields, data: Fields): FieldError[] {
  const missing = (...keys: readonly string[]): FieldError[] =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => requiredField(`data[${key}]`))
  switch (text(object, 'type')) {
    case 'kubernetes.io/service-account-token': {
      const account = textMap(struct(object, 'metadata'), 'annotations')[accountAnnotation] ?? ''
      return account === '' ? [requiredField(`metadata.annotations[${accountAnnotation}]`)] : []
    }
    case 'kubernetes.io/dockercfg':
      return checkJson(data, '.dockercfg')
    case 'kubernetes.io/dockerconfigjson':
      return checkJson(data, '.dockerconfigjson')
    case 'kubernetes.io/basic-auth': {
      const both = missing('username', 'password')
      return both.length === 2 ? both : []
    }
    case 'kubernetes.io/ssh-auth':
      return text(data, 'ssh-privatekey') === '' ? [requiredField('data[ssh-privatekey]')] : []
    case 'kubernetes.io/tls':
      return missing('tls.crt', 'tls.key')
    default:
      return []
  }
}

/** What is wrong inside is not told: it might show a part of the secret. */
function checkJson(data: Fields, key: string): FieldError[] {
  if (!has(data, key)) return [requiredField(`data[${key}]`)]
  const content = Buffer.from(text(data, key), 'base64').toString('utf8')
  try {
    const value: unknown = JSON.parse(content)
    if (typeof value === 'object' && !Array.isArray(value)) return []
    return [invalidField(`data[${key}]`, redacted, 'must be a JSON object')]
  } catch {
    const detail = content.trim() === '' ? 'unexpected end of JSON input' : 'must be valid JSON'
    return [invalidField(`data[${key}]`, redacted, detail)]
  }
}

function checkSealed(object: Fields, old: Fields, names: readonly string[]): FieldError[] {
  if (!flag(old, 'immutable')) return []
  const detail = 'field is immutable when `immutable` is set'
  const changed = names.filter((name) => !sameValue(object[name], old[name]))
  const unsealed = flag(object, 'immutable') ? [] : ['immutable']
  return [...unsealed, ...changed].map((name) => forbiddenField(name, detail))
}

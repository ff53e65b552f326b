/** Tolerations of pods, and the taint effects that they share with nodes. */
import { labelKeyBreaches, labelValueBreaches } from '../../../kube/selectors/names.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkEach, checkName, checkSupported } from '../checks.ts'
import { type Fields, has, structs, text } from '../fields.ts'

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export function checkTaintEffect(effect: string, path: string): FieldError[] {
  return effect === '' ? [requiredField(path)] : checkSupported(effect, path, taintEffects)
}

export function checkTolerations(tolerations: readonly Fields[], path: string): FieldError[] {
  return checkEach(tolerations, path, (toleration, at) => {
    const [key, effect] = [text(toleration, 'key'), text(toleration, 'effect')]
    const operator = text(toleration, 'operator')
    const errors = key === '' ? [] : checkName(key, `${at}.key`, labelKeyBreaches)
    if (key === '' && operator !== 'Exists') {
      const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
      errors.push(invalidField(`${at}.operator`, operator, detail))
    }
    if (has(toleration, 'tolerationSeconds') && effect !== 'NoExecute') {
      const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
      errors.push(invalidField(`${at}.effect`, effect, detail))
    }
    errors.push(...checkOperator(operator, text(toleration, 'value'), at))
    if (effect !== '') errors.push(...checkSupported(effect, `${at}.effect`, taintEffects))
    return errors
  })
}

function checkOperator(operator: string, value: string, path: string): FieldError[] {
  const at = `${path}.operator`
  switch (operator) {
    case '':
    case 'Equal': {
      const breaches = labelValueBreaches(value)
      return breaches.length === 0 ? [] : [invalidField(at, value, breaches.join(';'))]
    }
    case 'Exists':
      return value === '' ? [] : [invalidField(at, value, "value must be empty when `operator` is 'Exists'")]
    case 'Lt':
    case 'Gt':
      return [notSupportedField(at, operator, ['Equal', 'Exists', 'Lt', 'Gt'])]
    default:
      return [notSupportedField(at, operator, ['Equal', 'Exists'])]
  }
}

/** On update: tolerations may be added, and only `tolerationSeconds` of the old ones may change. */
export function checkOnlyAddedTolerations(spec: Fields, old: Fields, path: string): FieldError[] {
  const tolerations = structs(spec, 'tolerations')
  const present = new Set(tolerations.map(withoutSeconds))
  const kept = structs(old, 'tolerations').every((before) => present.has(withoutSeconds(before)))
  if (!kept) return [forbiddenField(path, 'existing toleration can not be modified except its tolerationSeconds')]
  return checkTolerations(tolerations, path)
}

function withoutSeconds(toleration: Fields): string {
  return JSON.stringify(['key', 'operator', 'value', 'effect'].map((name) => text(toleration, name)))
}

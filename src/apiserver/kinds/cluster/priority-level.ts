/** PriorityLevelConfigurations: how many requests of one level run at once, and how the others wait. */
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkSupported } from '../checks.ts'
import { type Fields, has, integer, struct, text } from '../fields.ts'
import { inRange } from '../names.ts'
import type { KindRules } from '../rules.ts'

const MAX_QUEUES = 10_000_000
/** Bits of the hash that deals requests to queues. */
const MAX_HASH_BITS = 60

const notNegative = 'must be a non-negative integer'

export const PRIORITY_LEVEL_RULES: KindRules = {
  generationOf: ['spec'],
  statusMetadata: 'kept',
  check: checkPriorityLevel,
}

function checkPriorityLevel(level: Fields): FieldError[] {
  const spec = struct(level, 'spec') ?? {}
  const type = text(spec, 'type')
  const isExempt = text(struct(level, 'metadata'), 'name') === 'exempt'
  const errors: FieldError[] = []
  if (isExempt !== (type === 'Exempt')) {
    errors.push(invalidField('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'"))
  }
  if (type === '') return [...errors, requiredField('spec.type')]
  if (type === 'Exempt') {
    const refused = has(spec, 'limited')
      ? [forbiddenField('spec.limited', 'must be nil if the type is not Limited')]
      : []
    return [...errors, ...refused, ...checkShares(struct(spec, 'exempt'), 'spec.exempt')]
  }
  if (type !== 'Limited') return [...errors, notSupportedField('spec.type', type, ['Exempt', 'Limited'])]
  if (has(spec, 'exempt')) errors.push(forbiddenField('spec.exempt', 'must be nil if the type is Limited'))
  const limited = struct(spec, 'limited')
  if (limited === undefined) {
    return [...errors, requiredField('spec.limited', 'must not be empty when type is Limited')]
  }
  return [...errors, ...checkLimited(limited, 'spec.limited')]
}

function checkShares(settings: Fields | undefined, path: string): FieldError[] {
  const [shares, lendable] = [
    integer(settings, 'nominalConcurrencyShares') ?? 0,
    integer(settings, 'lendablePercent') ?? 0,
  ]
  return [
    ...(shares < 0 ? [invalidField(`${path}.nominalConcurrencyShares`, shares, notNegative)] : []),
    ...inRange(lendable, 0, 100).map((breach) => invalidField(`${path}.lendablePercent`, lendable, breach)),
  ]
}

function checkLimited(limited: Fields, path: string): FieldError[] {
  const [sharesError, percentError] = [
    checkShares({ ...limited, lendablePercent: 0 }, path),
    checkShares({ ...limited, nominalConcurrencyShares: 0 }, path),
  ]
  const borrowing = integer(limited, 'borrowingLimitPercent') ?? 0
  return [
    ...sharesError,
    ...checkLimitResponse(struct(limited, 'limitResponse') ?? {}, `${path}.limitResponse`),
    ...percentError,
    ...(borrowing < 0
      ? [invalidField(`${path}.borrowingLimitPercent`, borrowing, `if specified, ${notNegative}`)]
      : []),
  ]
}

function checkLimitResponse(response: Fields, path: string): FieldError[] {
  const [type, queuing] = [text(response, 'type'), struct(response, 'queuing')]
  const at = `${path}.queuing`
  if (type === 'Reject') {
    const detail = 'must be nil if limited.limitResponse.type is not Limited'
    return queuing === undefined ? [] : [forbiddenField(at, detail)]
  }
  if (type === 'Queue') {
    const detail = 'must not be empty if limited.limitResponse.type is Limited'
    return queuing === undefined ? [requiredField(at, detail)] : checkQueuing(queuing, at)
  }
  return type === '' ? [requiredField(`${path}.type`)] : checkSupported(type, `${path}.type`, ['Queue', 'Reject'])
}

function checkQueuing(queuing: Fields, path: string): FieldError[] {
  const [length, queues, hand] = ['queueLengthLimit', 'queues', 'handSize'].map((name) => integer(queuing, name) ?? 0)
  const positive = (name: string, value = 0): FieldError[] =>
    value <= 0 ? [invalidField(`${path}.${name}`, value, 'must be positive')] : []
  const tooMany = (queues ?? 0) > MAX_QUEUES
  return [
    ...positive('queueLengthLimit', length),
    ...positive('queues', queues),
    ...(tooMany ? [invalidField(`${path}.queues`, queues, `must not be greater than ${MAX_QUEUES}`)] : []),
    ...positive('handSize', hand),
    ...checkHand(queues ?? 0, hand ?? 0, `${path}.handSize`),
  ]
}

function checkHand(queues: number, hand: number, path: string): FieldError[] {
  if (hand <= 0) return []
  if (hand > queues) return [invalidField(path, hand, `should not be greater than queues (${queues})`)]
  let bits = 0
  for (let card = 0; card < hand; card++) bits += Math.log2(queues - card)
  if (Math.ceil(bits) <= MAX_HASH_BITS) return []
  const needs = `required entropy bits of deckSize ${queues} and handSize ${hand}`
  return [invalidField(path, hand, `${needs} should not be greater than ${MAX_HASH_BITS}`)]
}

/** What the labels of a namespace ask of its pods: a level and the release whose rules are meant, for each of three modes. */
import { type FieldError, invalidField } from '../../../kube/status/field-error.ts'

/** From the most permissive to the strictest. */
const levels = ['privileged', 'baseline', 'restricted'] as const
export type Level = (typeof levels)[number]

export interface Standard {
  readonly level: Level
  /** The minor number of the release, Infinity for `latest`. */
  readonly minor: number
}

export interface Policy {
  /** What pods must keep to. */
  readonly enforce: Standard
  /** What is only noted in the audit log. */
  readonly audit: Standard
  /** What users are told about. */
  readonly warn: Standard
}

const prefix = 'pod-security.kubernetes.io/'
const permissive: Standard = { level: 'privileged', minor: Number.POSITIVE_INFINITY }

export function strictness(level: Level): number {
  return levels.indexOf(level)
}

export function sameStandard(a: Standard, b: Standard): boolean {
  return a.level === b.level && a.minor === b.minor
}

export function describeStandard({ level, minor }: Standard): string {
  return `${level}:${minor === Number.POSITIVE_INFINITY ? 'latest' : `v1.${minor}`}`
}

/**
 * A policy comes of any labels, with the errors they contain. A mistake never lets anybody through: `enforce` becomes as strict as
 * can be. The other modes refuse nothing, so a mistake there switches them off.
 */
export function policyOf(labels: Readonly<Record<string, string>>): { policy: Policy; errors: FieldError[] } {
  const errors: FieldError[] = []
  const read = (mode: keyof Policy, onMistake: Level): Standard => {
    const level = labels[`${prefix}${mode}`]
    const version = labels[`${prefix}${mode}-version`]
    const isLevel = levels.some((known) => known === level)
    if (level !== undefined && !isLevel) {
      errors.push(labelError(mode, level, `must be one of ${levels.join(', ')}`))
    }
    const minor = version === undefined ? permissive.minor : minorOf(version)
    if (version !== undefined && minor === undefined) {
      errors.push(labelError(`${mode}-version`, version, 'must be "latest" or "v1.x"'))
    }
    const chosen = level === undefined ? permissive.level : isLevel ? (level as Level) : onMistake
    return { level: chosen, minor: minor ?? permissive.minor }
  }
  const enforce = read('enforce', 'restricted')
  const audit = read('audit', 'privileged')
  const asked = read('warn', 'privileged')
  const warn = warnsLikeEnforce(labels) ? { ...asked, ...followed(enforce, asked, labels) } : asked
  return { policy: { enforce, audit, warn }, errors }
}

/** Whoever enforces a level without a word about warnings is warned by the same level. */
function warnsLikeEnforce(labels: Readonly<Record<string, string>>): boolean {
  const level = labels[`${prefix}enforce`]
  return labels[`${prefix}warn`] === undefined && levels.some((known) => known === level)
}

function followed(enforce: Standard, asked: Standard, labels: Readonly<Record<string, string>>): Partial<Standard> {
  if (strictness(enforce.level) <= strictness(asked.level)) return {}
  return labels[`${prefix}warn-version`] === undefined ? enforce : { level: enforce.level }
}

function minorOf(version: string): number | undefined {
  if (version === 'latest') return Number.POSITIVE_INFINITY
  const minor = /^v1\.(\d|[1-9]\d*)$/.exec(version)?.[1]
  return minor === undefined ? undefined : Number(minor)
}

function labelError(label: string, value: string, detail: string): FieldError {
  return invalidField(`metadata.labels[${prefix}${label}]`, value, detail)
}

/** Answers of two servers in a form in which they can be compared: status, reason, and which objects were shown. */
import type { KubeObject } from '../../src/kube/objects.ts'
import type { Answered, Asked, TwinName, Twins } from './twins.ts'

/** How often a difference must come back to be one: what was just written is not everywhere at once. Writes have one try. */
const maxTries = 3

export interface Shown {
  readonly status: number
  readonly reason?: string
  /** Of a refusal for lack of rights: it says how the request was read. */
  readonly message?: string
  /** `namespace/name` of each object, with the type of its event in a watch. */
  readonly objects?: readonly string[]
  /** Whom the server takes the caller for. */
  readonly user?: unknown
}

/** Each server has some namespaces and nodes of its own making; `ours` says which objects the suite has made. */
export interface Sight {
  isMade(object: KubeObject): boolean
}

export function shownBy({ status, text }: Answered, sight: Sight): Shown {
  const values = parse(text)
  const [value] = values
  // A watch that showed nothing is like one that said so.
  if (value === undefined) return status === 200 ? { status, objects: [] } : { status }
  if (value['kind'] === 'Status' && values.length === 1) return refusal(status, value)
  const user = (value['status'] as { userInfo?: ShownUser } | undefined)?.userInfo
  if (user !== undefined) return { status, user: inOrder(user) }
  const objects = values.flatMap((each) => namesIn(each, sight))
  return { status, objects: [...new Set(objects)].sort() }
}

interface ShownUser {
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** What came in several headers is in no particular order. */
function inOrder({ extra = {}, ...user }: ShownUser): ShownUser {
  const keys = Object.keys(extra).sort()
  const sorted = keys.map((key) => [key, [...(extra[key] ?? [])].sort()] as const)
  return { ...user, extra: Object.fromEntries(sorted) }
}

function parse(text: string): Record<string, unknown>[] {
  try {
    return [JSON.parse(text) as Record<string, unknown>]
  } catch {
    return text.split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line) as Record<string, unknown>]
      } catch {
        return []
      }
    })
  }
}

function refusal(status: number, { reason, message }: Record<string, unknown>): Shown {
  const shown = { status, reason: typeof reason === 'string' ? reason : '' }
  return status === 403 ? { ...shown, message: String(message) } : shown
}

function namesIn(value: Record<string, unknown>, sight: Sight): string[] {
  const { type, object, items } = value as { type?: string; object?: KubeObject; items?: KubeObject[] }
  if (Array.isArray(items)) return items.filter((item) => sight.isMade(item)).map(nameOf)
  if (typeof type !== 'string' || object === undefined) return sight.isMade(value) ? [nameOf(value)] : []
  if (type === 'BOOKMARK') return []
  if (type === 'ERROR') return [`ERROR ${String(object['reason'])}`]
  return sight.isMade(object) ? [`${type} ${nameOf(object)}`] : []
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`
}

export type Difference = Readonly<Record<TwinName, Shown>>

/** Undefined where both agree. */
export async function differenceOf(twins: Twins, asked: Asked, sight: Sight): Promise<Difference | undefined> {
  const { shown, isSame } = await outcomeOf(twins, asked, sight)
  return isSame ? undefined : shown
}

export interface Outcome {
  readonly shown: Difference
  readonly isSame: boolean
}

export async function outcomeOf(twins: Twins, asked: Asked, sight: Sight): Promise<Outcome> {
  for (let tried = 1; ; tried++) {
    const answers = await twins.askBoth(asked)
    const shown = { real: shownBy(answers.real, sight), ours: shownBy(answers.ours, sight) }
    const isSame = JSON.stringify(shown.real) === JSON.stringify(shown.ours)
    if (isSame || tried === maxTries || asked.method !== 'GET') return { shown, isSame }
  }
}

/** A request and what came of it, in three lines. */
export function describeDifference(asked: Asked, { real, ours }: Difference): string {
  const { by = 'nobody known', method, target, headers = [], body, type } = asked
  const given = headers.map(([name, value]) => `  ${name}: ${value}`)
  const sent = body === undefined ? [] : [`  ${type ?? ''} ${JSON.stringify(body)}`]
  return [
    `${by}: ${method} ${target}`,
    ...given,
    ...sent,
    `  real ${JSON.stringify(real)}`,
    `  ours ${JSON.stringify(ours)}`,
  ].join('\n')
}

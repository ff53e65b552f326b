/** A list of attacks against both servers: each must be refused or allowed by both, as the list says, and in the same words. */
import type { Attack } from '../attack/node-attack.ts'
import { describeDifference, type Shown, shownBy } from './twin-answers.ts'
import type { Answered, Asked, TwinName, Twins } from './twins.ts'

const sight = { isMade: (): boolean => true }
const uids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
/** Refusals that are the same, in other words: with a name that was drawn, with another right that is lacking, with a drawing. */
const inOtherWords = /under a drawn name|^plays|changes the phase of its claim/

/** `caller` says who attacks which server. */
export async function differencesOf(
  twins: Twins,
  attacks: Readonly<Record<TwinName, readonly Attack[]>>,
  caller: (twin: TwinName) => Pick<Asked, 'by' | 'headers'>,
): Promise<string[]> {
  const differences: string[] = []
  const askedOf = (twin: TwinName, attack: Attack): Asked => {
    const { by, headers = [] } = caller(twin)
    return { ...attack, by, headers: [...headers, ...(attack.headers ?? [])] }
  }
  for (const [index, attack] of attacks.real.entries()) {
    const asked = askedOf('real', attack)
    const real = comparable(await twins.ask('real', asked), attack)
    const ours = comparable(await twins.ask('ours', askedOf('ours', attacks.ours[index] as Attack)), attack)
    const isAsExpected = real.status < 300 === (attack.isAllowed === true)
    if (isAsExpected && JSON.stringify(real) === JSON.stringify(ours)) continue
    differences.push(`${attack.what}\n${describeDifference(asked, { real, ours })}`)
  }
  return differences
}

function comparable(answer: Answered, { what }: Attack): Shown {
  const { message, ...shown } = shownBy(answer, sight)
  // Both stores have no room for it, and say so in their own way: the real one calls it a fault of its own.
  if (what === 'tells a long story') return { status: Math.min(shown.status, 400) }
  return message === undefined || inOtherWords.test(what)
    ? shown
    : { ...shown, message: message.replaceAll(uids, 'uid') }
}

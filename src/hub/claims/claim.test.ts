import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Refusal } from '../refusal.ts'
import {
  type Claim,
  claimByCertificate,
  claimByRotation,
  claimByToken,
  type HeldClaim,
  type Joining,
  MAX_FORGOTTEN_KEYS,
  type ReleasedClaim,
  releaseClaim,
} from './claim.ts'

const node = 'edge-1'
const nowMs = 1_000_000
const held: HeldClaim = { state: 'held', node, current: 'A', heldSinceMs: 1, tokenId: 't0', certificateEndsMs: 9 }
const rotating: HeldClaim = { ...held, next: 'B' }
const released: ReleasedClaim = { state: 'released', node, releasedAtMs: 500 }

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(Refusal)
    return (error as Refusal).code
  }
  return 'allowed'
}

describe('joining with a token', () => {
  const joining = (key: string, namesNode: boolean, nodeExists: boolean): Joining => ({
    node,
    key,
    token: { id: 't1', namesNode },
    nodeExists,
    nowMs,
  })
  const fresh = (key: string): HeldClaim => ({ state: 'held', node, current: key, heldSinceMs: nowMs, tokenId: 't1' })

  // claim, key, the token names the node, a Node exists -> the claim after it, or the refusal
  const cases: [string, Claim | undefined, string, boolean, boolean, HeldClaim | string][] = [
    ['a free name', undefined, 'C', false, false, fresh('C')],
    ['a free name by its own token', undefined, 'C', true, false, fresh('C')],
    ['the name of a Node that is not ours', undefined, 'C', false, true, 'node-exists'],
    ['the name of a Node by its own token', undefined, 'C', true, true, fresh('C')],
    ['a released name', released, 'C', false, false, fresh('C')],
    ['a released name by its own token', released, 'C', true, false, fresh('C')],
    ['a released name whose Node still stands', released, 'C', false, true, 'node-exists'],
    ['a released name whose Node still stands, by its own token', released, 'C', true, true, fresh('C')],
    ['a taken name', held, 'C', false, false, 'name-taken'],
    ['a taken name with its Node', held, 'C', false, true, 'name-taken'],
    ['a taken name by its own token', held, 'C', true, false, fresh('C')],
    ['a taken name with its Node, by its own token', held, 'C', true, true, fresh('C')],
    ['its own name again', held, 'A', false, false, held],
    ['its own name again, its Node being there', held, 'A', false, true, held],
    ['its own name again by its own token', held, 'A', true, true, held],
    ['a name in rotation', rotating, 'C', false, false, 'name-taken'],
    ['a name in rotation by its own token', rotating, 'C', true, true, fresh('C')],
    ['its name with the current key in a rotation', rotating, 'A', false, true, rotating],
    ['its name with the next key in a rotation', rotating, 'B', false, true, { ...held, current: 'B' }],
    ['its name with the next key by its own token', rotating, 'B', true, true, { ...held, current: 'B' }],
  ]
  it.each(cases)('%s', (_what, claim, key, namesNode, nodeExists, wanted) => {
    const join = () => claimByToken(claim, joining(key, namesNode, nodeExists))
    if (typeof wanted === 'string') expect(codeOf(join)).toBe(wanted)
    else expect(join()).toEqual(wanted)
  })

  it('changes nothing for a holder that asks again', () => {
    expect(claimByToken(held, joining('A', false, true))).toBe(held)
    expect(claimByToken(rotating, joining('A', true, true))).toBe(rotating)
  })

  it('forgets the end of the certificate and the next key of who was replaced', () => {
    expect(Object.keys(claimByToken(rotating, joining('C', true, true))).toSorted()).toEqual(
      ['current', 'heldSinceMs', 'node', 'state', 'tokenId'].toSorted(),
    )
  })

  it('says how to go on', () => {
    expect(() => claimByToken(held, joining('C', false, false))).toThrow(/causeway token create --node edge-1/)
    expect(() => claimByToken(undefined, joining('C', false, true))).toThrow(/causeway token create --node edge-1/)
  })
})

describe('presenting a certificate', () => {
  const present =
    (claim: Claim | undefined, key: string, notBeforeMs = 0) =>
    () =>
      claimByCertificate(claim, { node, key, notBeforeMs, nowMs })

  it('claims a name that nobody has', () => {
    expect(present(undefined, 'C')()).toEqual({ state: 'held', node, current: 'C', heldSinceMs: nowMs })
  })
  it('changes nothing for the current key', () => {
    expect(present(held, 'A')()).toBe(held)
    expect(present(rotating, 'A')()).toBe(rotating)
  })
  it('makes the next key current, and ends the one before', () => {
    const after = present(rotating, 'B')()
    expect(after).toEqual({ ...held, current: 'B' })
    expect('next' in after).toBe(false)
    expect(codeOf(present(after, 'A'))).toBe('certificate-revoked')
  })
  it('is refused with any other key', () => {
    expect(codeOf(present(held, 'B'))).toBe('certificate-revoked')
    expect(codeOf(present(rotating, 'C'))).toBe('certificate-revoked')
  })
  it('is refused for certificates from before the release, to the millisecond', () => {
    expect(codeOf(present(released, 'A', 0))).toBe('certificate-revoked')
    expect(codeOf(present(released, 'A', released.releasedAtMs))).toBe('certificate-revoked')
    expect(present(released, 'A', released.releasedAtMs + 1)()).toEqual({
      state: 'held',
      node,
      current: 'A',
      heldSinceMs: nowMs,
    })
  })
})

describe('forgetting', () => {
  const later = { node, notBeforeMs: nowMs + 1_000_000, nowMs }

  it('refuses the keys that held the name whatever their dates say: the clock of the hub may be ahead', () => {
    const mark = releaseClaim(rotating, node, nowMs)
    expect(mark).toEqual({ state: 'released', node, releasedAtMs: nowMs, forgotten: ['A', 'B'] })
    for (const key of ['A', 'B'])
      expect(codeOf(() => claimByCertificate(mark, { ...later, key }))).toBe('certificate-revoked')
    expect(claimByCertificate(mark, { ...later, key: 'C' })).toMatchObject({ current: 'C', forgotten: ['A', 'B'] })
  })

  it('remembers the keys of every time before, also across a new holder', () => {
    const first = releaseClaim(held, node, nowMs)
    const token = { id: 't1', namesNode: true }
    const again = claimByToken(first, { node, key: 'C', token, nodeExists: false, nowMs })
    const mark = releaseClaim(again, node, nowMs)
    expect(mark.forgotten).toEqual(['C', 'A'])
    expect(releaseClaim(mark, node, nowMs).forgotten).toEqual(['C', 'A'])
    expect(releaseClaim(undefined, node, nowMs)).toEqual({ state: 'released', node, releasedAtMs: nowMs })
  })

  it('is undone for a key by a token, and by nothing else', () => {
    const token = { id: 't1', namesNode: false }
    const back = claimByToken(releaseClaim(held, node, nowMs), { node, key: 'A', token, nodeExists: false, nowMs })
    expect(back).toEqual({ state: 'held', node, current: 'A', heldSinceMs: nowMs, tokenId: 't1' })
  })

  it('keeps the latest keys where there are too many', () => {
    let mark = releaseClaim(undefined, node, 0)
    for (let index = 0; index <= MAX_FORGOTTEN_KEYS; index++)
      mark = releaseClaim({ ...held, current: `${index}`, forgotten: mark.forgotten ?? [] }, node, 0)
    expect(mark.forgotten).toHaveLength(MAX_FORGOTTEN_KEYS)
    expect(mark.forgotten?.[0]).toBe(`${MAX_FORGOTTEN_KEYS}`)
    expect(mark.forgotten).not.toContain('0')
  })
})

describe('what is noted of a certificate that is presented', () => {
  const presented = { node, key: 'A', notBeforeMs: 600, notAfterMs: 5_000, issuer: 'ca', nowMs }

  it('is its end and its CA, for a name that it claims', () => {
    const claim = { state: 'held', node, current: 'A', heldSinceMs: nowMs, certificateEndsMs: 5_000, issuer: 'ca' }
    expect(claimByCertificate(undefined, presented)).toEqual(claim)
    expect(claimByCertificate(released, presented)).toEqual(claim)
  })

  it('is what was not known yet; what was noted at the issue stays', () => {
    expect(claimByCertificate(held, presented)).toEqual({ ...held, issuer: 'ca' })
    const known = { ...held, issuer: 'newer' }
    expect(claimByCertificate(known, presented)).toBe(known)
  })
})

describe('rotating', () => {
  it.each([
    ['the current key asks', held, 'A', 'B', rotating],
    ['the current key asks for the same again', rotating, 'A', 'B', rotating],
    ['the current key asks for yet another', rotating, 'A', 'C', { ...held, next: 'C' }],
    ['the current key renews itself', held, 'A', 'A', held],
    ['the current key renews itself, and drops the next', rotating, 'A', 'A', held],
    ['the next key asks', rotating, 'B', 'C', { ...held, current: 'B', next: 'C' }],
    ['the next key renews itself', rotating, 'B', 'B', { ...held, current: 'B' }],
    ['the next key asks to go back', rotating, 'B', 'A', { ...held, current: 'B', next: 'A' }],
  ] as const)('%s', (_what, claim, presented, wanted, after) => {
    expect(claimByRotation(claim, presented, wanted)).toEqual(after)
  })
  it('is for the holder only', () => {
    expect(codeOf(() => claimByRotation(held, 'B', 'B'))).toBe('certificate-revoked')
    expect(codeOf(() => claimByRotation(rotating, 'C', 'A'))).toBe('certificate-revoked')
  })
})

/** A machine that wants to be the node: the key of its last certificate, and the key it is joining with. */
interface Machine {
  certificate?: { key: string; notBeforeMs: number }
  joinKey?: string
}

type Step =
  | { do: 'join'; by: number; namesNode: boolean; answerLost: boolean }
  | { do: 'use'; by: number }
  | { do: 'rotate'; by: number; answerLost: boolean }
  | { do: 'forget' }

const by = fc.nat(2)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('join' as const), by, namesNode: fc.boolean(), answerLost: fc.boolean() }),
  fc.record({ do: fc.constant('use' as const), by }),
  fc.record({ do: fc.constant('rotate' as const), by, answerLost: fc.boolean() }),
  fc.record({ do: fc.constant('forget' as const) }),
)

/** Plays steps by the rules and keeps, besides the claim, who the name belongs to by common sense. */
class World {
  readonly machines: Machine[] = [{}, {}, {}]
  readonly keys: string[] = []
  claim: Claim | undefined
  owner: number | undefined
  timeMs = 0

  take(given: Step): void {
    this.timeMs += 10
    if (given.do === 'forget') {
      this.claim = { state: 'released', node, releasedAtMs: this.timeMs }
      this.owner = undefined
      return
    }
    try {
      if (given.do === 'join') this.#join(given)
      else if (given.do === 'use') this.#use(given.by)
      else this.#rotate(given)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
  }

  #join({ by, namesNode, answerLost }: Extract<Step, { do: 'join' }>): void {
    const machine = this.#machine(by)
    machine.joinKey ??= this.#newKey(by)
    const token = { id: 't', namesNode }
    const joining = { node, key: machine.joinKey, token, nodeExists: false, nowMs: this.timeMs }
    this.claim = claimByToken(this.claim, joining)
    this.owner = by
    if (answerLost) return
    machine.certificate = { key: machine.joinKey, notBeforeMs: this.timeMs }
    delete machine.joinKey
  }

  #use(by: number): void {
    const { certificate } = this.#machine(by)
    if (certificate === undefined) return
    this.claim = claimByCertificate(this.claim, { node, ...certificate, nowMs: this.timeMs })
    this.owner = by
  }

  #rotate({ by, answerLost }: Extract<Step, { do: 'rotate' }>): void {
    const machine = this.#machine(by)
    if (machine.certificate === undefined) return
    const { key } = machine.certificate
    const used = claimByCertificate(this.claim, { node, ...machine.certificate, nowMs: this.timeMs })
    const wanted = this.#newKey(by)
    this.claim = claimByRotation(used, key, wanted)
    this.owner = by
    if (!answerLost) machine.certificate = { key: wanted, notBeforeMs: this.timeMs }
  }

  /** All keys there ever were that a certificate of would be let in with now. */
  get accepted(): string[] {
    return this.keys.filter((key) => codeOf(() => this.present(key, 0)) === 'allowed')
  }

  present(key: string, notBeforeMs: number): HeldClaim {
    return claimByCertificate(this.claim, { node, key, notBeforeMs, nowMs: this.timeMs })
  }

  #machine(index: number): Machine {
    return this.machines[index] ?? {}
  }

  #newKey(by: number): string {
    const key = `${by}/${this.keys.length}`
    this.keys.push(key)
    return key
  }
}

describe('whatever happens in whatever order', () => {
  const steps = fc.array(step, { maxLength: 40 })

  it('no two keys may use a name, except the current and the next of one machine', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const world = new World()
        for (const one of list) {
          world.take(one)
          if (world.claim === undefined) continue
          const { accepted, claim } = world
          if (claim.state === 'released') expect(accepted).toEqual([])
          else expect(accepted).toEqual(world.keys.filter((key) => key === claim.current || key === claim.next))
          expect(accepted.length).toBeLessThanOrEqual(2)
          expect(new Set(accepted.map((key) => key.split('/')[0])).size).toBeLessThanOrEqual(1)
        }
      }),
    )
  })

  it('an answer that is lost locks nobody out: the owner can always use or renew what it has', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const world = new World()
        for (const one of list) {
          world.take(one)
          const machine = world.owner === undefined ? undefined : world.machines[world.owner]
          if (machine === undefined) continue
          const { certificate, joinKey } = machine
          const canUse =
            certificate !== undefined &&
            codeOf(() => world.present(certificate.key, certificate.notBeforeMs)) === 'allowed'
          const token = { id: 't', namesNode: false }
          const canJoinAgain =
            joinKey !== undefined &&
            codeOf(() => claimByToken(world.claim, { node, key: joinKey, token, nodeExists: true, nowMs: 0 })) ===
              'allowed'
          expect(canUse || canJoinAgain).toBe(true)
        }
      }),
    )
  })

  it('a key that was replaced or forgotten never comes back by its certificate', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const world = new World()
        const gone = new Set<string>()
        for (const one of list) {
          const before = world.claim === undefined ? [] : world.accepted
          const joining = one.do === 'join' ? world.machines[one.by]?.joinKey : undefined
          world.take(one)
          if (world.claim === undefined) continue
          const { accepted } = world
          for (const key of before) if (!accepted.includes(key)) gone.add(key)
          // Only a token brings an old key back, and only the very key that asks with it.
          if (joining !== undefined) gone.delete(joining)
          expect(accepted.filter((key) => gone.has(key))).toEqual([])
        }
      }),
    )
  })
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nodeNameProblem } from '../../identity/node-name.ts'
import { claimName, serverSecretName } from './names.ts'

describe('the name of a claim', () => {
  it('shows the node where it fits', () => {
    expect(claimName('edge-1.site')).toBe('causeway-claim.edge-1.site')
    expect(claimName('a'.repeat(238))).toBe(`causeway-claim.${'a'.repeat(238)}`)
    expect(claimName('a'.repeat(239))).toMatch(/^causeway-claim\.sha256-[0-9a-f]{64}$/)
  })

  it('is a name the API server takes, and another for each node', () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,60}$/)
    const node = fc
      .array(label, { minLength: 1, maxLength: 5 })
      .map((labels) => labels.join('.').slice(0, 253).replace(/\.$/, ''))
    fc.assert(
      fc.property(node, node, (a, b) => {
        expect(nodeNameProblem(claimName(a))).toBeUndefined()
        expect(claimName(a) === claimName(b)).toBe(a === b)
      }),
    )
  })

  it('cannot be taken by a node that is called like the hash of another', () => {
    const long = 'a'.repeat(253)
    const imitation = claimName(long).slice('causeway-claim.'.length)
    expect(claimName(imitation)).not.toBe(claimName(long))
  })
})

describe('the name of a server certificate', () => {
  it('depends on the set of addresses only', () => {
    expect(serverSecretName(['b', 'a', 'b'])).toBe(serverSecretName(['a', 'b']))
    expect(serverSecretName(['a', 'b'])).not.toBe(serverSecretName(['ab']))
    expect(serverSecretName(['a'])).toMatch(/^causeway-server-[0-9a-f]{10}$/)
  })
})

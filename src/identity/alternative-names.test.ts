import { Constructed, Primitive, Sequence } from 'asn1js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalIpAddress } from '../network/ip-address.ts'
import { decodeAlternativeNames, encodeAlternativeNames, type RequestedNames } from './alternative-names.ts'

function encode(names: RequestedNames): Uint8Array {
  return encodeAlternativeNames(names) ?? new Uint8Array()
}

function withValue(value: Primitive | Constructed): Uint8Array {
  return new Uint8Array(new Sequence({ value: [value] }).toBER())
}

function tagged(tagNumber: number, bytes: number[]): Primitive {
  return new Primitive({ idBlock: { tagClass: 3, tagNumber }, valueHex: Uint8Array.from(bytes).buffer })
}

describe('alternative names', () => {
  it('survive the way to DER and back', () => {
    const names = fc.record({
      dnsNames: fc.array(fc.domain()),
      ipAddresses: fc.array(fc.oneof(fc.ipV4(), fc.ipV6())),
      uris: fc.array(fc.webUrl()),
      emailAddresses: fc.array(fc.emailAddress()),
    })
    fc.assert(
      fc.property(names, (requested) => {
        const der = encodeAlternativeNames(requested)
        const isEmpty = Object.values(requested).every(({ length }) => length === 0)
        expect(der === undefined).toBe(isEmpty)
        if (der === undefined) return
        const ipAddresses = requested.ipAddresses.map(canonicalIpAddress)
        expect(decodeAlternativeNames(der, 'x')).toEqual({ ...requested, ipAddresses, otherKinds: [] })
      }),
    )
  })

  it.each(['kubernetes', 'kubernetes.default.svc.cluster.local', '*.edge.example', 'a_b.example', 'example.'])(
    'may be the DNS name %s',
    (name) => {
      expect(decodeAlternativeNames(encode({ dnsNames: [name] }), 'x').dnsNames).toEqual([name])
    },
  )

  it.each<RequestedNames>([
    { dnsNames: [''] },
    { dnsNames: ['a b'] },
    { dnsNames: ['a..b'] },
    { dnsNames: ['-a'] },
    { dnsNames: ['a.*.b'] },
    { dnsNames: ['a\0b'] },
    { dnsNames: ['münchen.example'] },
    { dnsNames: [`${'a'.repeat(254)}.b`] },
    { ipAddresses: ['localhost'] },
    { ipAddresses: ['fe80::1%eth0'] },
    { uris: ['spiffe://a b'] },
    { emailAddresses: ['ü@example.org'] },
  ])('cannot be %j', (names) => {
    expect(() => encodeAlternativeNames(names)).toThrow(expect.objectContaining({ code: 'invalid-template' }))
  })

  it('of other kinds are counted, not overlooked', () => {
    const directoryName = new Constructed({ idBlock: { tagClass: 3, tagNumber: 4 }, value: [new Sequence()] })
    expect(decodeAlternativeNames(withValue(directoryName), 'x').otherKinds).toEqual(['directoryName'])
    expect(decodeAlternativeNames(withValue(tagged(8, [0x2a])), 'x').otherKinds).toEqual(['registeredId'])
  })

  it.each([
    ['a NUL in a DNS name', withValue(tagged(2, [...Buffer.from('good.example\0.evil.example')]))],
    ['a line break in a URI', withValue(tagged(6, [0x61, 0x0a]))],
    ['a character beyond ASCII', withValue(tagged(2, [0xe4]))],
    ['an address of five bytes', withValue(tagged(7, [1, 2, 3, 4, 5]))],
    ['an unknown kind', withValue(tagged(9, [1]))],
    ['a universal type', new Uint8Array(Buffer.from('30030c0161', 'hex'))],
    ['a structure in place of text', withValue(new Constructed({ idBlock: { tagClass: 3, tagNumber: 2 }, value: [] }))],
    ['no list', new Uint8Array(Buffer.from('0500', 'hex'))],
  ])('with %s are refused', (_, der) => {
    expect(() => decodeAlternativeNames(der, 'x')).toThrow(expect.objectContaining({ code: 'malformed-extension' }))
  })
})

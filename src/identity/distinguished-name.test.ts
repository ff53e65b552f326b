import {
  BmpString,
  ObjectIdentifier,
  OctetString,
  Primitive,
  type PrintableString,
  Sequence,
  Set as SetOf,
  Utf8String,
} from 'asn1js'
import * as fc from 'fast-check'
import { RelativeDistinguishedNames } from 'pkijs'
import { describe, expect, it } from 'vitest'
import { readStructure } from './der.ts'
import {
  attributeValues,
  commonName,
  type DistinguishedName,
  decodeName,
  encodeName,
  formatName,
  userName,
} from './distinguished-name.ts'

function decode(der: Uint8Array): DistinguishedName {
  return decodeName(
    readStructure(RelativeDistinguishedNames, der, 'malformed-certificate', 'x'),
    'malformed-certificate',
    'x',
  )
}

function nameWith(value: Utf8String | BmpString | OctetString | PrintableString | Primitive): Uint8Array {
  const pair = new Sequence({ value: [new ObjectIdentifier({ value: '2.5.4.3' }), value] })
  return new Uint8Array(new Sequence({ value: [new SetOf({ value: [pair] })] }).toBER())
}

describe('distinguished names', () => {
  it('survive the way to DER and back', () => {
    const attribute = fc.record({
      type: fc.constantFrom('CN', 'O', 'OU', 'C', 'L', 'ST', 'SERIALNUMBER', '1.3.6.1.4.1.57683.2'),
      value: fc.oneof(fc.string({ minLength: 1 }), fc.string({ minLength: 1, unit: 'grapheme' })),
    })
    fc.assert(
      fc.property(fc.array(attribute, { maxLength: 8 }), (name) => {
        expect(decode(encodeName(name as DistinguishedName))).toEqual(name)
      }),
    )
  })

  it('hold a user and its groups', () => {
    const name = userName('system:node:edge-1', ['system:nodes', 'other'])
    expect(commonName(name)).toBe('system:node:edge-1')
    expect(attributeValues(name, 'O')).toEqual(['system:nodes', 'other'])
    expect(formatName(name)).toBe('O=system:nodes, O=other, CN=system:node:edge-1')
  })

  it('cannot fake attributes or log lines when shown', () => {
    expect(formatName(userName('a, O=system:masters\nx'))).toBe('CN=a\\, O=system:masters\\0ax')
    expect(formatName([])).toBe('(no name)')
  })

  it('read several attributes of one set', () => {
    const oid = '2.5.4.10'
    const pairs = ['a', 'b'].map(
      (value) => new Sequence({ value: [new ObjectIdentifier({ value: oid }), new Utf8String({ value })] }),
    )
    const der = new Uint8Array(new Sequence({ value: [new SetOf({ value: pairs })] }).toBER())
    expect(attributeValues(decode(der), 'O')).toEqual(['a', 'b'])
  })

  it('read other kinds of text, and show what is no text', () => {
    expect(commonName(decode(nameWith(new BmpString({ value: 'Ä1' }))))).toBe('Ä1')
    expect(commonName(decode(nameWith(new OctetString({ valueHex: Uint8Array.of(1, 2).buffer }))))).toBe('#04020102')
  })

  it('refuse text that is not what it says', () => {
    const raw = (tagNumber: number, bytes: number[]) =>
      nameWith(new Primitive({ idBlock: { tagClass: 1, tagNumber }, valueHex: Uint8Array.from(bytes).buffer }))
    for (const der of [raw(12, [0xc3, 0x28]), raw(19, [0xe9]), raw(30, [0xd8, 0x00])])
      expect(() => decode(der)).toThrow('a name in x is not valid text')
  })

  it('refuse to write an empty attribute', () => {
    expect(() => encodeName(userName(''))).toThrow('the CN of a name must not be empty')
  })
})

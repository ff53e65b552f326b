import { describe, expect, it } from 'vitest'
import { checkDer, MAX_DER_DEPTH, MAX_DER_NODES, readDer } from './der.ts'
import { IdentityError } from './errors.ts'

function refusal(hex: string): string | undefined {
  try {
    checkDer(Buffer.from(hex, 'hex'), 'x')
    return undefined
  } catch (error) {
    expect((error as IdentityError).code).toBe('malformed-der')
    return (error as IdentityError).message
  }
}

function nested(depth: number): Buffer {
  let bytes: Buffer = Buffer.from('0500', 'hex')
  for (let i = 0; i < depth; i++) {
    const length = bytes.length < 0x80 ? [bytes.length] : [0x81, bytes.length]
    bytes = Buffer.concat([Buffer.of(0x30, ...length), bytes])
  }
  return bytes
}

describe('checkDer', () => {
  it.each([
    ['an empty sequence', '3000'],
    ['a number', '020100'],
    ['a number with a sign byte that it needs', '02020080'],
    ['a negative number', '0201ff'],
    ['true', '0101ff'],
    ['an empty bit string', '030100'],
    ['three bits', '030205a0'],
    ['a long value', `048180${'00'.repeat(128)}`],
    ['a tagged value', 'a003020101'],
  ])('passes %s', (_, hex) => {
    expect(refusal(hex)).toBeUndefined()
  })

  it.each([
    ['nothing', '', 'no bytes'],
    ['only a tag', '30', 'cut short'],
    ['a length without its bytes', '3082', 'cut short'],
    ['a value cut short', '0402aa', 'longer than'],
    ['bytes after the end', '300000', '1 bytes follow'],
    ['a child larger than its parent', '30030405aa', 'longer than'],
    ['an indefinite length', '30800000', 'indefinite'],
    ['a length of eight bytes', '3088ffffffffffffffff', 'absurd'],
    ['a long form for a short length', '048101aa', 'shortest'],
    ['a length with a zero in front', `04820080${'00'.repeat(128)}`, 'shortest'],
    ['a padded number', '02020001', 'shortest'],
    ['a padded negative number', '0202ff80', 'shortest'],
    ['a number without bytes', '0200', 'shortest'],
    ['a boolean that is 1', '010101', 'boolean'],
    ['a bit string without its count', '0300', 'unused bits'],
    ['a bit string with eight unused bits', '03020800', 'unused bits'],
    ['a bit string that lacks the bits it does not use', '030101', 'unused bits'],
    ['an unused bit that is set', '03020101', 'unused bits'],
    ['a constructed byte string', '2403040101', 'not DER'],
    ['a primitive sequence', '1000', 'not DER'],
    ['an end-of-contents mark', '0000', 'not DER'],
    ['a tag above 30', '1f8101', 'not one that X.509 uses'],
  ])('refuses %s', (_, hex, problem) => {
    expect(refusal(hex)).toContain(problem)
  })

  it('bounds depth and number', () => {
    expect(refusal(nested(MAX_DER_DEPTH).toString('hex'))).toBeUndefined()
    expect(refusal(nested(MAX_DER_DEPTH + 1).toString('hex'))).toContain('too deep')
    const wide = (count: number): string => {
      const content = Buffer.alloc(count * 2, Buffer.from('0500', 'hex'))
      return Buffer.concat([Buffer.from([0x30, 0x82, content.length >> 8, content.length & 0xff]), content]).toString(
        'hex',
      )
    }
    expect(refusal(wide(MAX_DER_NODES - 1))).toBeUndefined()
    expect(refusal(wide(MAX_DER_NODES))).toContain('too many')
  })

  it('lets the library read all that it passes', () => {
    expect(() => readDer(nested(MAX_DER_DEPTH), 'x')).not.toThrow()
    expect(() => readDer(Buffer.from('0605', 'hex'), 'x')).toThrow(IdentityError)
  })
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_PEM_BLOCKS, MAX_PEM_BYTES, readPem, writePem } from './pem.ts'

function codeOf(text: string): unknown {
  try {
    return readPem(text, 'the file').length
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

describe('readPem', () => {
  it('reads back what writePem wrote, whatever stands around it', () => {
    const text = fc.string().filter((line) => !line.includes('-----'))
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 5 }),
        text,
        (values, noise) => {
          const pem = `${noise}\n${values.map((value) => `${writePem('X Y', value)}\n${noise}\n`).join('')}`
          expect(readPem(pem, 'x').map(({ der }) => [...der])).toEqual(values.map((value) => [...value]))
        },
      ),
    )
  })

  it('takes bytes, Windows line ends, a byte order mark and a missing last line end', () => {
    const windows = `\uFEFF${writePem('A', Buffer.from('hello')).replaceAll('\n', '\r\n').trimEnd()}`
    for (const text of [windows, Buffer.from(windows)])
      expect(readPem(text, 'x')).toEqual([{ label: 'A', headers: {}, der: Buffer.from('hello') }])
  })

  it('keeps the headers of old encrypted keys', () => {
    const pem = '-----BEGIN K-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\naGVsbG8=\n-----END K-----\n'
    expect(readPem(pem, 'x')[0]?.headers).toEqual({ 'Proc-Type': '4,ENCRYPTED', 'DEK-Info': 'AES-128-CBC,00' })
  })

  it.each([
    ['no end', '-----BEGIN A-----\naGVsbG8=\n'],
    ['another end', '-----BEGIN A-----\naGVsbG8=\n-----END B-----\n'],
    ['an end without a beginning', 'aGVsbG8=\n-----END A-----\n'],
    ['a beginning within', '-----BEGIN A-----\n-----BEGIN A-----\naGVsbG8=\n-----END A-----\n'],
    ['nothing inside', '-----BEGIN A-----\n-----END A-----\n'],
    ['foreign characters', '-----BEGIN A-----\naGV!bG8=\n-----END A-----\n'],
    ['a missing character', '-----BEGIN A-----\naGVsbG8\n-----END A-----\n'],
    ['padding in the middle', '-----BEGIN A-----\naA==aGVs\n-----END A-----\n'],
    ['stray bits in the padding', '-----BEGIN A-----\naGVsbG9=\n-----END A-----\n'],
  ])('refuses a block with %s', (_, text) => {
    expect(codeOf(text)).toBe('malformed-pem')
  })

  it('says where', () => {
    expect(() => readPem('text\n\n-----BEGIN A-----\n?\n-----END A-----\n', 'ca.crt')).toThrow(
      'ca.crt, line 3: the A block is not valid base64',
    )
  })

  it('bounds size and count', () => {
    expect(codeOf(' '.repeat(MAX_PEM_BYTES))).toBe(0)
    expect(codeOf(' '.repeat(MAX_PEM_BYTES + 1))).toBe('too-large')
    const block = writePem('A', Buffer.of(1))
    expect(codeOf(block.repeat(MAX_PEM_BLOCKS))).toBe(MAX_PEM_BLOCKS)
    expect(codeOf(block.repeat(MAX_PEM_BLOCKS + 1))).toBe('too-large')
  })
})

import { describe, expect, it } from 'vitest'
import type { ByteReader } from './byte-source.ts'
import { BytesSource } from './bytes-source.ts'

const bytes = Buffer.alloc(200 * 1024).map((_, index) => index)

function readerOf(source: BytesSource, onData: (pieces: number) => void = () => {}) {
  const heard: (Buffer | 'end')[] = []
  const reader: ByteReader = {
    data: (piece) => {
      heard.push(piece)
      onData(heard.length)
    },
    end: () => heard.push('end'),
    broken: () => {},
  }
  source.read(reader)
  return heard
}

describe('BytesSource', () => {
  it('gives everything to a reader that takes everything, and its end once', () => {
    let over = 0
    const heard = readerOf(new BytesSource(bytes, () => (over += 1)))
    expect(heard.pop()).toBe('end')
    expect(Buffer.concat(heard as Buffer[]).equals(bytes)).toBe(true)
    expect(over).toBe(1)
  })

  it('waits for a reader that is slow, at each piece and before the end', () => {
    const source = new BytesSource(bytes)
    const heard = readerOf(source, () => source.pause())
    for (let piece = 1; piece <= 4; piece += 1) {
      expect(heard).toHaveLength(piece)
      source.resume()
    }
    expect(heard).toHaveLength(5)
    expect(heard.at(-1)).toBe('end')
  })

  it('says nothing more to a reader that gave up', () => {
    let over = 0
    const source = new BytesSource(bytes, () => (over += 1))
    const heard = readerOf(source, () => source.cancel())
    source.resume()
    expect([heard.length, over]).toEqual([1, 1])
  })

  it('has an end also where there is nothing else', () => {
    expect(readerOf(new BytesSource(Buffer.alloc(0)))).toEqual(['end'])
  })
})

import type { Http2Stream } from 'node:http2'
import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { letGo } from './let-go.ts'

/** As far as it matters here: Node itself listens to who comes and goes on its HTTP/2 streams. */
function stream(): Http2Stream {
  const duplex = new Duplex({ read() {} })
  duplex.on('newListener', () => {})
  duplex.on('removeListener', () => {})
  return duplex as unknown as Http2Stream
}

describe('letGo', () => {
  it('leaves nobody with a stream that is over, and lets no late error through', () => {
    const over = stream()
    for (const event of ['data', 'end', 'close', 'drain']) over.on(event, () => {})
    letGo(over)
    expect(over.eventNames()).toEqual(['error'])
    expect(() => over.emit('error', new Error('late'))).not.toThrow()
  })

  it('takes nobody out of the turn that is under way', () => {
    const over = stream()
    const heard: string[] = []
    over.on('close', () => letGo(over))
    over.on('close', () => heard.push('second'))
    over.once('close', () => heard.push('third'))
    over.emit('close')
    expect(heard).toEqual(['second', 'third'])
  })
})

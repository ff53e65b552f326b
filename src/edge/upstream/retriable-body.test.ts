import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { sourceOf } from '../../../test/worlds/byte-sources.ts'
import type { ByteReader } from '../../http/body/byte-source.ts'
import { RetriableBody } from './retriable-body.ts'

class Heard implements ByteReader {
  text = ''
  ending: 'end' | Error | undefined

  data(piece: Buffer): void {
    this.text += piece.toString()
  }

  end(): void {
    this.ending = 'end'
  }

  broken(fault: Error): void {
    this.ending = fault
  }
}

function world() {
  const client = new PassThrough()
  return { client, body: new RetriableBody(sourceOf(client)), first: new Heard(), second: new Heard() }
}

describe('a body of which nothing has been sent', () => {
  it('goes whole to the second reader', async () => {
    const { client, body, first, second } = world()
    body.read(first)
    body.leave()
    expect(body.isTouched).toBe(false)
    body.read(second)
    client.end('all of it')
    await expect.poll(() => second.ending).toBe('end')
    expect([first.text, first.ending, second.text, body.isTouched]).toEqual(['', undefined, 'all of it', true])
  })

  it('is broken for the second reader where it broke between the two', async () => {
    const { client, body, first, second } = world()
    body.read(first)
    body.leave()
    const closed = new Promise((resolve) => client.once('close', resolve))
    client.destroy(new Error('gone'))
    await closed
    body.read(second)
    expect(second.ending).toMatchObject({ message: 'gone' })
  })
})

it('a body is touched by its first byte', async () => {
  const { client, body, first } = world()
  body.read(first)
  client.write('x')
  await expect.poll(() => first.text).toBe('x')
  expect(body.isTouched).toBe(true)
})

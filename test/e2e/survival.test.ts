/** One request that ended the process, to the API server itself and through the endpoint of an edge. */
import { once } from 'node:events'
import { connect } from 'node:http2'
import { afterEach, expect, it } from 'vitest'
import { endAll, launch, makeWorkingDir } from './harness.ts'

afterEach(endAll)

async function attack(origin: string): Promise<number> {
  const session = connect(origin, { rejectUnauthorized: false })
  session.on('error', () => {})
  const stream = session.request({ ':path': '/version', 'audit-id': `${'a'.repeat(63)} bcd` })
  stream.on('error', () => {})
  const [head] = (await once(stream.resume(), 'response')) as [Record<string, unknown>]
  session.destroy()
  return Number(head[':status'])
}

it('an Audit-ID that cannot be sent back ends neither the API server nor the edge before it', async () => {
  const ports = ['--secure-port', '0', '--hub-port', '0', '--edge-port', '0', '--endpoint-port', '0']
  const up = launch(['up', ...ports, '--health-address', '127.0.0.1:0'], { workingDir: makeWorkingDir() })
  await up.ready()
  const addressOf = (name: string): string => new RegExp(`${name}\\s+(https://[^\\s,]+)`).exec(up.stdout)?.[1] ?? ''
  const [server, endpoint] = [addressOf('server'), addressOf('endpoint')]
  for (let round = 0; round < 3; round++) {
    expect(await attack(server)).toBe(200)
    expect(await attack(endpoint)).toBe(200)
  }
  up.kill('SIGTERM')
  expect(await up.exited).toEqual({ code: 0, signal: null })
})

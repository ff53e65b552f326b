import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loudNet } from '../../test/worlds/loud-net.ts'
import { ExplainedError } from '../runtime/explained-error.ts'
import { CONTROL_SOCKET_NAME, type ControlActions, type ControlAnswers, ControlSocket } from './control-socket.ts'
import type { RunningPart } from './lifecycle.ts'

let folder = ''
let running: RunningPart | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'control-'))
})

afterEach(async () => {
  await running?.stop(AbortSignal.abort())
  running = undefined
  rmSync(folder, { recursive: true })
})

async function start(answers: ControlAnswers, actions?: ControlActions): Promise<void> {
  running = await new ControlSocket(folder, loudNet(), answers, actions).start(new AbortController().signal, () => {})
}

function ask(path: string, method = 'GET'): Promise<{ status: number | undefined; value: unknown }> {
  return new Promise((resolve, reject) => {
    request({ socketPath: join(folder, CONTROL_SOCKET_NAME), path, method }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.on('end', () => resolve({ status: response.statusCode, value: JSON.parse(body) }))
    })
      .on('error', reject)
      .end()
  })
}

describe('ControlSocket', () => {
  it('answers what it was given, and names its paths otherwise', async () => {
    await start({ '/v1/status': async () => ({ role: 'edge' }) })
    expect(await ask('/v1/status')).toEqual({ status: 200, value: { role: 'edge' } })
    for (const asked of [ask('/v1/nodes'), ask('/v1/status', 'POST'), ask('/toString')])
      expect(await asked).toEqual({ status: 404, value: { message: 'this process answers GET on /v1/status' } })
  })

  it('does what it is asked to by POST, and by nothing else', async () => {
    const link = ([node = '', ...rest]: readonly string[]) => {
      if (node === '') throw new ExplainedError('no node is named')
      return { node, rest }
    }
    await start({ '/v1/status': () => 'fine' }, { '/v1/link': link })
    expect(await ask('/v1/link/a/cut/5', 'POST')).toEqual({ status: 200, value: { node: 'a', rest: ['cut', '5'] } })
    expect(await ask('/v1/link/', 'POST')).toEqual({ status: 400, value: { message: 'no node is named' } })
    const message = 'this process answers GET on /v1/status, and POST below /v1/link'
    const unknown = [
      ask('/v1/link/a'),
      ask('/v1/status', 'POST'),
      ask('/v1/link/a', 'PUT'),
      ask('/v1/linkage/a', 'POST'),
    ]
    for (const asked of unknown) expect(await asked).toEqual({ status: 404, value: { message } })
  })

  it('tells of an answer that failed', async () => {
    await start({ '/v1/status': () => Promise.reject(new Error('no idea')) })
    expect(await ask('/v1/status')).toEqual({ status: 500, value: { message: 'no idea' } })
  })

  it('is for its owner only, replaces a leftover and leaves nothing behind', async () => {
    const path = join(folder, CONTROL_SOCKET_NAME)
    writeFileSync(path, 'left over')
    await start({})
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(path).isSocket()).toBe(true)
    await running?.stop(AbortSignal.abort())
    running = undefined
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined()
  })

  it('says what to do about a path that is too long', async () => {
    const deep = join(folder, 'x'.repeat(120))
    const started = new ControlSocket(deep, loudNet(), {}).start(new AbortController().signal, () => {})
    await expect(started).rejects.toThrow(/choose a shorter --data-dir$/)
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import type { ConnectionConfig, UserCredentials } from './connection.ts'
import { RequestCredentials, TOKEN_REREAD_MS } from './credentials.ts'

const connection: ConnectionConfig = {
  source: 'test',
  server: 'https://api',
  namespace: 'default',
  tls: { skipVerify: false },
  credentials: { type: 'anonymous' },
}

function as(credentials: UserCredentials): ConnectionConfig {
  return { ...connection, credentials }
}

describe('request credentials', () => {
  let directory: string
  let file: string

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'causeway-credentials-'))
    file = join(directory, 'token')
  })

  afterAll(async () => {
    await rm(directory, { recursive: true })
  })

  it('sends nothing for nobody, and encodes user names', async () => {
    const clock = new ManualClock()
    expect(await new RequestCredentials(connection, clock).headers()).toEqual([])
    const basic = new RequestCredentials(as({ type: 'basic', username: 'joe', password: 'x' }), clock)
    expect(await basic.headers()).toEqual([['authorization', 'Basic am9lOng=']])
  })

  it('reads a token file again after a minute, and at once after a refusal', async () => {
    const clock = new ManualClock()
    const credentials = new RequestCredentials(as({ type: 'token', token: { file } }), clock)
    await writeFile(file, 'first\n')
    expect(await credentials.headers()).toEqual([['authorization', 'Bearer first']])
    await writeFile(file, 'second')
    await clock.advance(TOKEN_REREAD_MS - 1)
    expect(await credentials.headers()).toEqual([['authorization', 'Bearer first']])
    await clock.advance(1)
    expect(await credentials.headers()).toEqual([['authorization', 'Bearer second']])
    await writeFile(file, 'third')
    credentials.refused()
    expect(await credentials.headers()).toEqual([['authorization', 'Bearer third']])
  })

  it('keeps the last good token while the file is away or empty', async () => {
    const clock = new ManualClock()
    const credentials = new RequestCredentials(as({ type: 'token', token: { file } }), clock)
    await writeFile(file, 'good')
    await credentials.headers()
    for (const spoil of [() => rm(file), () => writeFile(file, '')]) {
      await spoil()
      credentials.refused()
      expect(await credentials.headers()).toEqual([['authorization', 'Bearer good']])
    }
  })

  it('refuses a token that would break the header, without showing it', async () => {
    const credentials = new RequestCredentials(
      as({ type: 'token', token: { data: Buffer.from('se\ncret') } }),
      new ManualClock(),
    )
    const failure = await credentials.headers().catch((error: unknown) => error)
    expect(String(failure)).toBe('ConnectionConfigError: the bearer token in test is not a valid token')
  })

  it('impersonates with one header per group and value, keys escaped', async () => {
    const impersonation = { user: 'jane', uid: '7', groups: ['a', 'b'], extra: { 'Acme/Scope (x)': ['1', '2'] } }
    const credentials = new RequestCredentials({ ...connection, impersonation }, new ManualClock())
    expect(await credentials.headers()).toEqual([
      ['impersonate-user', 'jane'],
      ['impersonate-uid', '7'],
      ['impersonate-group', 'a'],
      ['impersonate-group', 'b'],
      ['impersonate-extra-acme%2Fscope%20%28x%29', '1'],
      ['impersonate-extra-acme%2Fscope%20%28x%29', '2'],
    ])
  })

  it('impersonates names beyond ASCII as UTF-8', async () => {
    const impersonation = { user: 'Zoë 雪', groups: [], extra: {} }
    const credentials = new RequestCredentials({ ...connection, impersonation }, new ManualClock())
    const [[, sent] = []] = await credentials.headers()
    expect(Buffer.from(sent ?? '', 'latin1').toString('utf8')).toBe('Zoë 雪')
  })

  it.each([
    ['user', { user: 'a\nb', groups: [], extra: {} }],
    ['uid', { user: 'a', uid: 'a\u0000', groups: [], extra: {} }],
    ['group', { user: 'a', groups: ['ok', ' admins'], extra: {} }],
    ['extra value', { user: 'a', groups: [], extra: { k: ['admin '] } }],
    ['extra key', { user: 'a', groups: [], extra: { '\ud800': ['v'] } }],
  ])('refuses a %s to impersonate that a header would change, before any request', (what, impersonation) => {
    expect(() => new RequestCredentials({ ...connection, impersonation }, new ManualClock())).toThrow(
      `test: the ${what} to impersonate`,
    )
  })
})

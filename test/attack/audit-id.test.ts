/**
 * An id for the audit log that cannot be sent back as it is cut: 63 characters, a space, and more. Setting the header of the
 * answer failed, setting it for the error failed again, and one anonymous request ended the process.
 */
import { connect } from 'node:http2'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OwnApiServer, startOwnApiServer } from '../worlds/own-api-server.ts'
import { ask } from './endpoint-asking.ts'
import { Escapes } from './faults.ts'

let server: OwnApiServer
let escapes: Escapes

beforeAll(async () => {
  escapes = new Escapes()
  server = await startOwnApiServer()
})

afterAll(async () => {
  await server.stop()
  escapes.release()
})

it.each([
  ['a cut that ends in a space', `${'a'.repeat(63)} bcd`, 'a'.repeat(63)],
  ['a cut that ends in a tab', `${'a'.repeat(63)}\tbcd`, 'a'.repeat(63)],
  ['bytes that are no ASCII', 'caf\u00e9', 'caf\u00e9'],
  ['an id of the longest kind', 'b'.repeat(64), 'b'.repeat(64)],
  ['a longer one', 'c'.repeat(40_000), 'c'.repeat(64)],
])('%s', async (_name, given, sent) => {
  const session = connect(server.connection.server, { rejectUnauthorized: false })
  const answer = await ask(session, { ':path': '/version', 'audit-id': given })
  session.destroy()
  expect([answer.status, answer.headers['audit-id']]).toEqual([200, sent])
  await escapes.expectNone()
})

/**
 * The two ports that have our own HTTP/2 engine, the API server's and the endpoint's, before h2spec. Every case passes but those of
 * `h2spec-known.ts`, and those fail.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { endAll, launch, makeWorkingDir } from '../e2e/harness.ts'
import { runH2spec, type SpecCase } from './h2spec.ts'
import { KNOWN_FAILURES, type KnownFailure } from './h2spec-known.ts'
import { describeReal } from './harness.ts'

/** In the version that `tools/peers` builds. */
const caseCount = 146

const anyPorts = ['--secure-port', '0', '--hub-port', '0', '--edge-port', '0', '--endpoint-port', '0']

const isSame = (known: KnownFailure, { section, title }: SpecCase): boolean =>
  known.section === section && known.title === title

describeReal('HTTP/2 as h2spec knows it', () => {
  const servers = { 'API server': '', endpoint: '' }

  beforeAll(async () => {
    const up = launch(['up', '--health-address', '127.0.0.1:0', ...anyPorts], { workingDir: makeWorkingDir() })
    const [, server = ''] = await up.shows(/^ {2}server +(https:\/\/[^,\s]+)/m)
    servers['API server'] = server
    await up.logged('the endpoint is open')
    const port = up.log.find(({ msg }) => msg === 'the endpoint is open')?.['port'] as number
    servers.endpoint = `https://127.0.0.1:${port}`
  })
  afterAll(endAll)

  it.each(['API server', 'endpoint'] as const)('is kept by the %s', async (name) => {
    const cases = await runH2spec(servers[name], '/version')
    expect(cases).toHaveLength(caseCount)
    const failed = cases.filter(({ failure }) => failure !== undefined)
    expect(failed.filter((each) => !KNOWN_FAILURES.some((known) => isSame(known, each)))).toEqual([])
    expect(KNOWN_FAILURES.filter((known) => !failed.some((each) => isSame(known, each)))).toEqual([])
  })
}, ['h2spec'])

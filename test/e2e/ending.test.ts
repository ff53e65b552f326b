/** The end of the command: nothing keeps it, and nothing it has said is lost. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { endAll, Launched, makeWorkingDir, patience, run } from './harness.ts'

let workingDir: string
beforeEach(() => {
  workingDir = makeWorkingDir()
})
afterEach(endAll)

/** Runs in the process before the command does. */
function planted(code: string): { NODE_OPTIONS: string } {
  const file = join(workingDir, 'planted.mjs')
  writeFileSync(file, code)
  return { NODE_OPTIONS: `--import=${pathToFileURL(file).href}` }
}

const handles = `
import { createServer, connect } from 'node:net'
setInterval(() => {}, 1_000)
const server = createServer(() => {}).listen(0, '127.0.0.1', () => connect(server.address().port, '127.0.0.1'))
`

it('a timer, a port and a connection that somebody forgot do not keep the process', async () => {
  expect(await run(['--version'], { workingDir, environment: planted(handles) })).toMatchObject({ code: 0 })
  expect(await run(['pu'], { workingDir, environment: planted(handles) })).toMatchObject({ code: 2 })
})

it('nor do they keep a role that has stopped', async () => {
  const args = ['up', '--data-dir', 'data', '--health-address', '127.0.0.1:0', '--drain-timeout', '1s']
  const up = new Launched(args, { workingDir, environment: planted(handles) })
  await expect.poll(() => up.log.some(({ msg }) => msg === 'ready'), patience).toBe(true)
  process.kill(up.pid, 'SIGTERM')
  expect(await up.exited).toEqual({ code: 0, signal: null })
  expect(up.log.at(-1)).toMatchObject({ msg: 'stopped' })
})

it('what was written before is read to its last byte, however slowly', async () => {
  const bytes = 4 * 1024 * 1024
  const environment = planted(
    `for (const output of [process.stdout, process.stderr]) output.write('x'.repeat(${bytes}) + '\\n')`,
  )
  const { code, stdout, stderr } = await run(['pu'], { workingDir, environment, readSlowly: true })
  expect([code, stdout.length]).toEqual([2, bytes + 1])
  expect(stderr.slice(0, bytes + 1)).toBe(`${'x'.repeat(bytes)}\n`)
  expect(stderr).toMatch(/\(see --help\)\n$/)
})

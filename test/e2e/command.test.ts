import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endAll, makeWorkingDir, run } from './harness.ts'

let workingDir: string
beforeEach(() => {
  workingDir = makeWorkingDir()
})
afterEach(endAll)

const root = new URL('../../', import.meta.url)

describe('the causeway command', () => {
  it('tells the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string }
    expect(await run(['--version'], { workingDir })).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('explains itself', async () => {
    const { code, stdout } = await run(['--help'], { workingDir })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Usage: causeway /)
    expect(stdout).toContain('Exit codes:')
  })

  it('refuses what it does not know with exit code 2 and a guess', async () => {
    const { code, stdout, stderr } = await run(['pu'], { workingDir })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain("unknown command 'pu'\n(Did you mean up?)")
  })

  it('fails when its output cannot be written', async () => {
    const forReadingOnly = openSync(new URL('package.json', root), 'r')
    const { code, stderr } = await run(['config', 'print'], { workingDir, stdout: forReadingOnly })
    closeSync(forReadingOnly)
    expect([code, stderr]).toEqual([1, 'error: cannot write the output: EBADF: bad file descriptor, write\n'])
  })

  it('keeps the first line that makes it an executable', () => {
    expect(readFileSync(new URL('dist/cli/main.js', root), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  })
})

describe('causeway config', () => {
  it('prints a file that checks and prints the same', async () => {
    const environment = { CAUSEWAY_UP_HEALTH_ADDRESS: '[::1]:0', CAUSEWAY_UP_DRAIN_TIMEOUT: '1m30s' }
    const printed = await run(['config', 'print'], { workingDir, environment })
    expect(printed.stdout).toMatch(/^drainTimeout: 1m30s +# CAUSEWAY_UP_DRAIN_TIMEOUT$/m)
    writeFileSync(join(workingDir, 'up.yaml'), printed.stdout)
    expect(await run(['config', 'check', '--config', 'up.yaml'], { workingDir })).toMatchObject({ code: 0, stderr: '' })
    const again = await run(['config', 'print', '--config', 'up.yaml', '-o', 'json'], { workingDir })
    expect(JSON.parse(again.stdout)).toMatchObject({
      healthAddress: { value: '[::1]:0', source: 'up.yaml:12' },
      drainTimeout: { value: '1m30s', source: 'up.yaml:13' },
    })
  })

  it('reports every problem of a file', async () => {
    writeFileSync(join(workingDir, 'up.yaml'), 'logLevl: info\nhealthAddress: 80\n')
    const { code, stdout, stderr } = await run(['config', 'check', '--config', 'up.yaml'], { workingDir })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('up.yaml:1: unknown key "logLevl"; did you mean "logLevel"?')
    expect(stderr).toContain('up.yaml:2: healthAddress: expected an address such as')
  })
})

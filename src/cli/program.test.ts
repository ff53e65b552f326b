import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { BUILD } from './build.ts'
import { runProgram } from './program.ts'

async function causeway(args: string[], environment: Record<string, string> = {}, outputError?: Error) {
  const printed = { stdout: '', stderr: '' }
  const code = await runProgram(args, {
    environment,
    workingDir: '/nowhere',
    stdout: {
      write: (text, done) => {
        printed.stdout += text
        done?.(outputError)
      },
      columns: 80,
    },
    stderr: { write: (text) => (printed.stderr += text) },
    clock: new ManualClock(),
    signals: new EventEmitter(),
    exit: () => {
      throw new Error('must not exit')
    },
  })
  return { code, ...printed }
}

describe('causeway', () => {
  it.each([['--help'], ['help']])('explains itself with %s', async (...args) => {
    const { code, stdout, stderr } = await causeway(args)
    expect([code, stderr]).toEqual([0, ''])
    for (const told of ['up [options]', 'CAUSEWAY_UP_HEALTH_ADDRESS', 'Exit codes:', '.causeway', 'Examples:']) {
      expect(stdout).toContain(told)
    }
  })

  it('explains every setting of up', async () => {
    const { code, stdout } = await causeway(['up', '--help'])
    expect(code).toBe(0)
    for (const flag of [
      '--data-dir',
      '--health-address',
      '--drain-timeout',
      '--log-level',
      '--log-format',
      '--config',
    ]) {
      expect(stdout).toContain(`${flag} <`)
    }
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('(default: 127.0.0.1:10551) [CAUSEWAY_UP_HEALTH_ADDRESS]')
  })

  it('fits its help to a narrow terminal', async () => {
    for (const args of [['--help'], ['up', '--help'], ['config', '--help'], ['config', 'print', '--help']]) {
      const { stdout } = await causeway(args)
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    }
  })

  it('tells its version', async () => {
    expect(await causeway(['--version'])).toEqual({ code: 0, stdout: `${BUILD.version}\n`, stderr: '' })
    expect((await causeway(['version'])).stdout).toMatch(
      new RegExp(`^causeway ${BUILD.version}, speaks Kubernetes v1\\.36\\.\\d+\n$`),
    )
    expect(JSON.parse((await causeway(['version', '-o', 'json'])).stdout)).toMatchObject({ version: BUILD.version })
    expect((await causeway(['version', '-o', 'yaml'])).stdout).toContain(`version: ${BUILD.version}\n`)
    expect((await causeway(['version', '-o', 'wide'])).stdout).toMatch(/^VERSION +KUBERNETES +NODE +PLATFORM\n/)
  })

  it.each([
    [['upp'], "unknown command 'upp'\n(Did you mean up?)"],
    [['help', 'upp'], "unknown command 'upp'\n(Did you mean up?)"],
    [['run', 'kubectl', 'get', 'pods', '-A'], "unknown option '-A'\n(put -- before the program: causeway run -- "],
    [
      ['run', '--data-dir', '/nowhere/data', '--', '/bin/sh'],
      'there is no folder /nowhere/data: name that of a running',
    ],
    [['up', '--helth-address', 'x'], "unknown option '--helth-address'\n(Did you mean --health-address?)"],
    [['up', 'now'], "too many arguments for 'up'"],
    [['up', '--data-dir'], "option '--data-dir <path>' argument missing"],
    [['config', 'print', '-o', 'xml'], 'Allowed choices are wide, yaml, json'],
    [['config', 'print', '--role', 'nobody'], 'Allowed choices are up'],
    [['config', 'show'], "unknown command 'show'"],
    [
      ['up', '--hub-port', '17000', '--secure-port', '17000'],
      '--secure-port and --hub-port are both port 17000: choose different ones',
    ],
    [['up', '--edge-port', '10551'], '--edge-port and --health-address (default) are both port 10551: choose'],
    [['up', '--log-level', 'loud'], '--log-level: expected one of trace, debug, info, warn, error, fatal, got "loud"'],
  ])('refuses %j with exit code 2', async (args, told) => {
    const { code, stdout, stderr } = await causeway(args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(told)
  })

  it('shows its help on stderr when no command is given', async () => {
    const { code, stdout, stderr } = await causeway([])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('Usage: causeway')
  })

  it('prints the configuration with its sources', async () => {
    const { code, stdout } = await causeway(['config', 'print'], { CAUSEWAY_UP_LOG_LEVEL: 'debug' })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^dataDir: \/nowhere\/\.causeway +# default$/m)
    expect(stdout).toMatch(/^logLevel: debug +# CAUSEWAY_UP_LOG_LEVEL$/m)
  })

  it.each([[['config', 'print']], [['config', 'check']], [['version']], [['--version']], [['--help']]])(
    'fails when the output of %j cannot be written, unless nobody reads it any more',
    async (args) => {
      const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
      expect(await causeway(args, {}, full)).toMatchObject({
        code: 1,
        stderr: 'error: cannot write the output: ENOSPC: no space left on device, write\n',
      })
      const gone = Object.assign(new Error('EPIPE'), { code: 'EPIPE' })
      expect(await causeway(args, {}, gone)).toMatchObject({ code: 0, stderr: '' })
    },
  )

  it('checks the configuration', async () => {
    expect(await causeway(['config', 'check'])).toEqual({
      code: 0,
      stdout: 'ok: the configuration of "causeway up" is valid\n',
      stderr: '',
    })
    const wrong = await causeway(['config', 'check', '--role', 'up'], {
      CAUSEWAY_UP_LOG_LEVEL: 'loud',
      CAUSEWAY_UP_DATADIR: 'x',
    })
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toBe(
      'error: the configuration of "causeway up" has 2 problems\n' +
        '  CAUSEWAY_UP_DATADIR: unknown environment variable; did you mean "CAUSEWAY_UP_DATA_DIR"?\n' +
        '  CAUSEWAY_UP_LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, got "loud"\n',
    )
  })
})

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { parse } from 'yaml'
import { OUTPUT_FORMATS } from '../output.ts'
import { ConfigError, type ConfigSources, loadConfig } from './load.ts'
import { option, optional, type Role } from './option.ts'
import { renderSettings } from './render.ts'
import { ROLES } from './roles.ts'
import { filePath, integer, listenAddress, listOf, oneOf, onOff, text } from './values.ts'
import { MAX_CONFIG_FILE_BYTES } from './yaml-file.ts'

/** A role with an option of every kind. */
const options = {
  dataDir: option({ type: filePath, default: 'data', description: 'where' }),
  healthAddress: option({ type: listenAddress, default: '127.0.0.1:1', description: 'where' }),
  logLevel: option({ type: oneOf('level', ['info', 'debug']), default: 'info', description: 'how much' }),
  maxNodes: option({ type: integer(1, 100), default: '10', description: 'how many' }),
  autoApprove: option({ type: onOff, default: 'false', description: 'whether' }),
  targets: option({ type: listOf(text), alias: 'aims', default: '', description: 'which' }),
  kubeconfig: optional({ type: filePath, description: 'which' }),
  joinToken: optional({ type: text, secret: true, description: 'secret' }),
}
const role: Role<typeof options> = { name: 'hub', options }

/** Every line holds the one before ten times: few bytes that would grow to a billion values. */
const LAUGHS = [
  'targets:',
  '- &a0 x',
  ...Array.from({ length: 9 }, (_, i) => `- &a${i + 1} [${`*a${i},`.repeat(10)}]`),
].join('\n')

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-config-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

function load(over: Partial<ConfigSources> = {}) {
  return loadConfig(role, { flags: {}, environment: {}, workingDir: dir, ...over })
}

function file(content: string, name = 'hub.yaml'): { config: string } {
  mkdirSync(join(dir, 'etc'), { recursive: true })
  writeFileSync(join(dir, 'etc', name), content)
  return { config: `etc/${name}` }
}

function problemsOf(over: Partial<ConfigSources>): readonly string[] {
  try {
    load(over)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).problems
  }
  return []
}

function originOf(key: string, over: Partial<ConfigSources>): string | undefined {
  return load(over).settings.find((setting) => setting.key === key)?.origin
}

describe('loadConfig', () => {
  it('gives typed defaults', () => {
    const { values } = load()
    expect(values).toEqual({
      dataDir: join(dir, 'data'),
      healthAddress: { host: '127.0.0.1', port: 1 },
      logLevel: 'info',
      maxNodes: 10,
      autoApprove: false,
      targets: [],
      kubeconfig: undefined,
      joinToken: undefined,
    })
    expectTypeOf(values.maxNodes).toEqualTypeOf<number>()
    expectTypeOf(values.logLevel).toEqualTypeOf<'info' | 'debug'>()
    expectTypeOf(values.kubeconfig).toEqualTypeOf<string | undefined>()
  })

  it('prefers flag to environment to file to default, and knows which it was', () => {
    const config = file('# first line\nmaxNodes: 3\n')
    const environment = { CAUSEWAY_HUB_MAX_NODES: '4' }
    expect(load().values.maxNodes).toBe(10)
    expect(load({ flags: config }).values.maxNodes).toBe(3)
    expect(load({ flags: config, environment }).values.maxNodes).toBe(4)
    expect(load({ flags: { ...config, maxNodes: '5' }, environment }).values.maxNodes).toBe(5)
    expect(originOf('maxNodes', {})).toBe('default')
    expect(originOf('maxNodes', { flags: config })).toBe('etc/hub.yaml:2')
    expect(originOf('maxNodes', { flags: config, environment })).toBe('CAUSEWAY_HUB_MAX_NODES')
    expect(originOf('maxNodes', { flags: { ...config, maxNodes: '5' }, environment })).toBe('--max-nodes')
    expect(originOf('kubeconfig', {})).toBe('not set')
  })

  it('reads every kind from every source', () => {
    const flags = { autoApprove: true, targets: 'a,b', healthAddress: '[::1]:2' }
    expect(load({ flags }).values).toMatchObject({
      autoApprove: true,
      targets: ['a', 'b'],
      healthAddress: { host: '::1' },
    })
    const environment = { CAUSEWAY_HUB_AUTO_APPROVE: 'true', CAUSEWAY_HUB_TARGETS: 'a,b' }
    expect(load({ environment }).values).toMatchObject({ autoApprove: true, targets: ['a', 'b'] })
    const config = file('autoApprove: true\ntargets: [a, b]\n')
    expect(load({ flags: config }).values).toMatchObject({ autoApprove: true, targets: ['a', 'b'] })
  })

  it('takes the file from the environment too, and paths in it as relative to its folder', () => {
    file('dataDir: d\n')
    const environment = { CAUSEWAY_HUB_CONFIG: 'etc/hub.yaml' }
    expect(load({ environment }).values.dataDir).toBe(join(dir, 'etc', 'd'))
    expect(load({ flags: { dataDir: 'd' }, environment }).values.dataDir).toBe(join(dir, 'd'))
  })

  it('takes an empty variable for one that is not set, and leaves the variables of others alone', () => {
    const environment = { CAUSEWAY_HUB_MAX_NODES: '', CAUSEWAY_NONSENSE: '', CAUSEWAY_UP_DATA_DIR: 'd', PATH: '/bin' }
    expect(load({ environment }).values.maxNodes).toBe(10)
  })

  it('refuses every variable of ours that no role knows', () => {
    const environment = { CAUSEWAY_MAX_NODES: '1', CAUSEWAY_HUBS: '1', CAUSEWAY_UP_LOG_LEVL: 'info' }
    expect(problemsOf({ environment })).toEqual([
      'CAUSEWAY_MAX_NODES: unknown environment variable; did you mean "CAUSEWAY_HUB_MAX_NODES"?',
      expect.stringMatching(/^CAUSEWAY_HUBS: unknown environment variable; known: CAUSEWAY_HUB_DATA_DIR, /),
      'CAUSEWAY_UP_LOG_LEVL: unknown environment variable; did you mean "CAUSEWAY_UP_LOG_LEVEL"?',
    ])
  })

  it('leaves alone what Kubernetes tells a pod about a Service that has our name', () => {
    const environment = {
      CAUSEWAY_SERVICE_HOST: '10.0.0.1',
      CAUSEWAY_HUB_SERVICE_HOST: '10.0.0.1',
      CAUSEWAY_HUB_SERVICE_PORT: '443',
      CAUSEWAY_HUB_SERVICE_PORT_HTTPS: '443',
      CAUSEWAY_HUB_PORT: 'tcp://10.0.0.1:443',
      CAUSEWAY_HUB_PORT_443_TCP: 'tcp://10.0.0.1:443',
      CAUSEWAY_HUB_PORT_443_TCP_PROTO: 'tcp',
      CAUSEWAY_HUB_PORT_443_TCP_PORT: '443',
      CAUSEWAY_HUB_PORT_443_TCP_ADDR: '10.0.0.1',
    }
    expect(problemsOf({ environment })).toEqual([])
    expect(problemsOf({ environment: { CAUSEWAY_HUB_PORT: '443' } })).toHaveLength(1)
  })

  it('accepts an empty file', () => {
    expect(load({ flags: file('# nothing yet\n') }).values.maxNodes).toBe(10)
  })

  it('reports every problem at once, each with its place', () => {
    const config = file('maxNodes: many\n\nhealthAdress: 127.0.0.1:1\ntargets: a\nzzzzzzzz: 1\nkubeconfig:\n')
    const environment = { CAUSEWAY_HUB_LOG_LEVLE: 'info', CAUSEWAY_HUB_AUTO_APPROVE: 'yes' }
    expect(problemsOf({ flags: { ...config, healthAddress: '127.0.0.1', logLevel: 'loud' }, environment })).toEqual([
      'CAUSEWAY_HUB_LOG_LEVLE: unknown environment variable; did you mean "CAUSEWAY_HUB_LOG_LEVEL"?',
      'etc/hub.yaml:3: unknown key "healthAdress"; did you mean "healthAddress"?',
      'etc/hub.yaml:5: unknown key "zzzzzzzz"; known: dataDir, healthAddress, logLevel, maxNodes, autoApprove, targets, kubeconfig, joinToken',
      '--health-address: expected an address such as 127.0.0.1:10551 or [::1]:10551, got "127.0.0.1": the port is missing',
      '--log-level: expected one of info, debug, got "loud"',
      'etc/hub.yaml:1: maxNodes: expected a whole number from 1 to 100, got "many"',
      'CAUSEWAY_HUB_AUTO_APPROVE: expected true or false, got "yes"',
      'etc/hub.yaml:4: targets: expected a list, each element text, got "a"',
      'etc/hub.yaml:6: kubeconfig: expected a path, got nothing',
    ])
  })

  it('reports a wrong value also where a better source hides it', () => {
    expect(problemsOf({ flags: { ...file('maxNodes: many\n'), maxNodes: '5' } })).toHaveLength(1)
  })

  it('does not take inherited names for keys', () => {
    expect(problemsOf({ flags: file('constructor: 1\ntoString: 1\n__proto__: 1\n') })).toHaveLength(3)
  })

  it.each([
    ['a: [1\n', /^etc\/hub\.yaml:\d: /],
    ['maxNodes: 1\nmaxNodes: 2\n', /^etc\/hub\.yaml:2: maxNodes: already set in line 1$/],
    ['maxNodes: 1\n---\nmaxNodes: 2\n', /^etc\/hub\.yaml:2: a second document starts here/],
    ['maxNodes: 1\nlogLevel: *nope\n', /^etc\/hub\.yaml:2: logLevel: .*nope/],
    ['logLevel: !foo info\n', /^etc\/hub\.yaml:1: .*!foo/],
    ['? [a]\n: 1\n', /^etc\/hub\.yaml:1: a key is not plain text$/],
    [`targets: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`, /^etc\/hub\.yaml:1: values are nested too deeply$/],
    [LAUGHS, /^etc\/hub\.yaml:1: targets: .*alias/],
    ['- a\n', /^etc\/hub\.yaml is not a mapping of keys to values$/],
    [`#${'x'.repeat(MAX_CONFIG_FILE_BYTES)}`, /^etc\/hub\.yaml is larger than 1048576 bytes/],
  ])('refuses a file that is no configuration (%#)', (content, problem) => {
    const problems = problemsOf({ flags: file(content) })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(problem)
  })

  it('checks tens of thousands of keys', () => {
    const keys = Array.from({ length: 60_000 }, (_, index) => `k${index}:\n`).join('')
    expect(keys.length).toBeLessThan(MAX_CONFIG_FILE_BYTES)
    expect(problemsOf({ flags: file(keys) })).toHaveLength(60_000)
  })

  it('reads regular files only', () => {
    execFileSync('sh', ['-c', 'mkfifo pipe'], { cwd: dir })
    expect(problemsOf({ flags: { config: 'pipe' } })).toEqual([
      'pipe cannot be read: it is a pipe, a socket or a device, not a file',
    ])
    expect(problemsOf({ flags: { config: '/dev/zero' } })).toEqual([
      '/dev/zero cannot be read: it is a pipe, a socket or a device, not a file',
    ])
  })

  it('refuses an empty name of a file, and takes an empty variable for none', () => {
    expect(problemsOf({ flags: { config: '' } })).toEqual(['--config: expected a path, got "": it is empty'])
    expect(problemsOf({ environment: { CAUSEWAY_HUB_CONFIG: '' } })).toEqual([])
  })

  it('says which file is missing', () => {
    expect(problemsOf({ flags: { config: 'nope.yaml' } })).toEqual(['nope.yaml cannot be read: there is no such file'])
    expect(problemsOf({ flags: { config: '.' } })).toEqual([expect.stringContaining('cannot be read: it is a folder')])
  })
})

describe('every role', () => {
  it.each(ROLES)('$name has defaults that pass its own checks, and a description of every option', (real) => {
    expect(() => loadConfig(real, { flags: {}, environment: {}, workingDir: dir })).not.toThrow()
    for (const { description } of Object.values(real.options)) expect(description).not.toBe('')
  })
})

describe('renderSettings', () => {
  const environment = { CAUSEWAY_HUB_JOIN_TOKEN: 'hunter2', CAUSEWAY_HUB_TARGETS: 'a,b' }

  it.each(OUTPUT_FORMATS)('never shows a secret as %s, nor in an error', (format) => {
    expect(renderSettings(role, load({ environment }).settings, format)).not.toContain('hunter2')
    expect(load({ environment }).values.joinToken).toBe('hunter2')
    const flags = file('joinToken: [hunter2]\n')
    expect(problemsOf({ flags })).toEqual(['etc/hub.yaml:1: joinToken: expected text, got something else (not shown)'])
  })

  it('prints YAML with the source of each value, which reads back as the same configuration', () => {
    const loaded = load({ environment, flags: { healthAddress: '[::1]:5' } })
    const yaml = renderSettings(role, loaded.settings, 'yaml')
    expect(yaml).toMatch(/^healthAddress: "\[::1\]:5" +# --health-address$/m)
    expect(yaml).toMatch(/^targets: \[ a, b \] +# CAUSEWAY_HUB_TARGETS$/m)
    expect(yaml).toMatch(/^# kubeconfig: +# not set$/m)
    expect(yaml).toMatch(/^# joinToken: "?\[not shown\]"? +# CAUSEWAY_HUB_JOIN_TOKEN$/m)
    const again = load({ flags: file(yaml) })
    expect(again.values).toEqual({ ...loaded.values, joinToken: undefined })
    expect(Object.keys(parse(yaml) as object)).toHaveLength(6)
  })

  it('prints JSON and columns', () => {
    const { settings } = load({ environment })
    expect(JSON.parse(renderSettings(role, settings, 'json'))).toMatchObject({
      maxNodes: { value: 10, source: 'default' },
      targets: { value: ['a', 'b'], source: 'CAUSEWAY_HUB_TARGETS' },
      kubeconfig: { value: null, source: 'not set' },
    })
    const wide = renderSettings(role, settings, 'wide').split('\n')
    expect(wide[0]).toMatch(/^KEY +VALUE +SOURCE +FLAG +ENVIRONMENT$/)
    expect(wide[4]).toMatch(/^maxNodes +10 +default +--max-nodes +CAUSEWAY_HUB_MAX_NODES$/)
  })
})

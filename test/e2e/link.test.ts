/** `causeway link`: a cable of `up` is pulled, and the edge notices; it is put back, and the edge is there again. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { endAll, launch, makeWorkingDir, patience, run } from './harness.ts'

let workingDir: string

beforeEach(() => {
  workingDir = makeWorkingDir()
})
afterEach(endAll)

const anyPorts = ['--secure-port', '0', '--hub-port', '0', '--edge-port', '0', '--endpoint-port', '0']

interface Entry {
  readonly node: string
  readonly cable: string
  readonly delay: string
  readonly link: string
  readonly next?: string
}

async function link(...args: string[]) {
  const { code, stdout, stderr } = await run(['link', ...args], { workingDir })
  return { code, stdout, stderr }
}

async function entries(): Promise<readonly Entry[]> {
  const { stdout } = await link('status', '-o', 'json')
  return JSON.parse(stdout) as Entry[]
}

async function linkIs(state: string): Promise<void> {
  await vi.waitFor(async () => expect((await entries())[0]).toMatchObject({ node: 'edge-1', link: state }), patience)
}

describe('causeway link', () => {
  it('cuts one edge off, and brings it back', async () => {
    const up = launch(['up', '--edges', '2', '--health-address', '127.0.0.1:0', ...anyPorts], { workingDir })
    await up.ready()
    await linkIs('up')
    expect(await link('cut', 'edge-1')).toEqual({ code: 0, stdout: 'edge-1: cut\n', stderr: '' })
    expect(await entries()).toMatchObject([
      { node: 'edge-1', cable: 'cut', delay: '0ms' },
      { node: 'edge-2', cable: 'whole', link: 'up' },
    ])
    await vi.waitFor(async () => expect((await entries())[0]?.link).not.toBe('up'), patience)
    const status = await run(['status', '-o', 'json'], { workingDir })
    const { edges } = JSON.parse(status.stdout) as {
      edges: { network: { links: { lastError?: string }[] } }[]
    }
    expect(edges[0]?.network.links[0]?.lastError).toMatch(/the peer sent nothing for|no connection to the hub/)
    expect(edges[1]?.network.links[0]?.lastError).toBeUndefined()
    const restored = await link('restore', 'edge-1', '--delay', '20ms')
    expect(restored.stdout).toBe('edge-1: restored, with a delay of 20ms each way\n')
    await linkIs('up')
    const later = await link('cut', 'edge-1', '--after', '1h')
    expect(later.stdout).toMatch(/^edge-1: cut at \d{4}-/)
    expect(await entries()).toMatchObject([{ cable: 'whole', next: expect.stringMatching(/^cut at /) }, {}])
    expect(await link('cut', 'store-7')).toMatchObject({
      code: 1,
      stderr: 'error: there is no edge store-7 here; there are edge-1, edge-2\n',
    })
    // A cut is no reason not to end in order, and in time.
    await link('cut', 'edge-1')
    up.kill('SIGTERM')
    expect(await up.exited).toEqual({ code: 0, signal: null })
  })

  it('says what to do where no "up" runs, and what a flag has to be', async () => {
    const nobody = await link('cut', 'edge-1')
    expect(nobody.code).toBe(1)
    expect(nobody.stderr).toMatch(
      /^error: no running process uses the data folder .*name its folder with --data-dir\n$/,
    )
    for (const wrong of [['cut', 'edge-1', '--after', 'soon'], ['restore', 'edge-1', '--delay', '1h'], ['cut']])
      expect((await link(...wrong)).code).toBe(2)
  })
})

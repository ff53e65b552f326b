import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CommandContext } from './context.ts'
import { withClient } from './kube-connection.ts'

let workingDir: string

beforeEach(() => {
  workingDir = mkdtempSync(join(tmpdir(), 'causeway-connection-'))
})
afterEach(() => rmSync(workingDir, { recursive: true }))

/** Why there is no client. */
async function refusal(flags: { kubeconfig?: string } = {}): Promise<string> {
  const context = { environment: { HOME: workingDir }, workingDir } as unknown as CommandContext
  const never = (): Promise<void> => Promise.reject(new Error('a client was made'))
  const refused = withClient(context, { namespace: 'x', ...flags }, never)
  return await refused.then(
    () => 'none',
    (error: Error) => error.message,
  )
}

describe('without a kubeconfig', () => {
  it('says how to name one', async () => {
    expect(await refusal()).toMatch(/^no API server configured: .*; name one with --kubeconfig$/)
  })

  it('proposes the one of "causeway up" in this folder', async () => {
    mkdirSync(join(workingDir, '.causeway'))
    writeFileSync(join(workingDir, '.causeway/admin.kubeconfig'), '')
    expect(await refusal()).toMatch(/; name one with --kubeconfig, such as --kubeconfig \.causeway\/admin\.kubeconfig$/)
  })
})

describe('with a kubeconfig that cannot be used', () => {
  it('says why in one sentence', async () => {
    const kubeconfig = join(workingDir, 'broken')
    writeFileSync(kubeconfig, 'kind: Config\nusers: [\n')
    const said = await refusal({ kubeconfig })
    expect(said).toContain('not valid YAML')
    expect(said).toMatch(/ line \d+, column \d+; name another with --kubeconfig$/)
  })
})

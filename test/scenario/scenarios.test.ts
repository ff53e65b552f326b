/**
 * Runs the scripts beside it, each before a cloud of its own. A script has a verb a line and below it, indented, what that shows;
 * `#` begins a comment. `CAUSEWAY_RECORD=1` writes what was shown into the scripts.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { SiteWorld } from '../worlds/site-world.ts'
import { runLine, type Stage } from './verbs.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const scripts = readdirSync(folder).filter((name) => name.endsWith('.scenario'))
const mayRecord = process.env['CAUSEWAY_RECORD'] === '1'

function isShown(line: string): boolean {
  return line.startsWith('  ')
}

/** The script with what it really shows. */
async function played(script: string, stage: Stage): Promise<string> {
  const lines: string[] = []
  for (const line of script.split('\n').filter((each) => !isShown(each))) {
    lines.push(line)
    if (line === '' || line.startsWith('#')) continue
    for (const shown of await runLine(stage, line)) lines.push(`  ${shown}`)
  }
  return lines.join('\n')
}

describe('the scenario', () => {
  it.each(scripts)('%s', async (name) => {
    const script = readFileSync(`${folder}${name}`, 'utf8')
    const site = await SiteWorld.start()
    try {
      const seen = await played(script, { site, joinTokens: new Map(), accounts: new Map(), watch: undefined })
      if (mayRecord) writeFileSync(`${folder}${name}`, seen)
      else expect(seen).toBe(script)
    } finally {
      await site.stop()
    }
  })

  it('names the verbs to whoever writes another', async () => {
    const stage: Stage = { site: {} as SiteWorld, joinTokens: new Map(), accounts: new Map(), watch: undefined }
    await expect(runLine(stage, 'jion edge-1 with one')).rejects.toThrow(/no verb fits "jion .*join NODE with NAME: /s)
  })
})

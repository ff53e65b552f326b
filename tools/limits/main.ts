/** `npm run generate:limits`: writes docs/limits.md from the constants in the sources. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readRecord } from '../../test/stall/record.ts'
import { findLimits, renderLimits } from './limits.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => `src/${name}`)
  .sort()
const limits = files.flatMap((file) => findLimits(file, readFileSync(root + file, 'utf8')))
writeFileSync(`${root}docs/limits.md`, renderLimits(limits, readRecord()))
console.log(`docs/limits.md: ${limits.length} limits`)

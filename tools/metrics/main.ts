/** `npm run generate:metrics`: writes docs/metrics.md from the metrics themselves. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { renderMetrics } from './metrics.ts'
import { metricSections } from './sections.ts'

const sections = metricSections()
writeFileSync(fileURLToPath(new URL('../../docs/metrics.md', import.meta.url)), renderMetrics(sections))
console.log(`docs/metrics.md: ${sections.flatMap(({ metrics }) => metrics).length} metrics`)

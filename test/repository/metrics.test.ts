/** docs/metrics.md says what the program tells, no more and no less. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Gauge, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { METRIC_NAME } from '../../src/telemetry/metrics.ts'
import { metricNamesIn, metricsOf, renderMetrics } from '../../tools/metrics/metrics.ts'
import { metricSections } from '../../tools/metrics/sections.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Only the API server has names from elsewhere. */
const namesOfKubeApiServer = /^(apiserver|authentication|authenticated|authorization)_[a-z_]+$/

function namesInSources(): string[] {
  return readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => metricNamesIn(readFileSync(`${root}src/${file}`, 'utf8')))
    .sort()
}

describe('docs/metrics.md', () => {
  const listed = metricSections().flatMap(({ title, metrics }) => metrics.map((metric) => ({ title, ...metric })))

  it('is up to date (npm run generate:metrics)', () => {
    expect(readFileSync(`${root}docs/metrics.md`, 'utf8')).toBe(renderMetrics(metricSections()))
  })

  it('has every metric that the sources make; a missing one wants a line in tools/metrics/sections.ts', () => {
    expect(namesInSources()).toEqual(listed.map(({ name }) => name).sort())
  })

  it('names metrics by the rule, and says what each is', () => {
    for (const { title, name, help } of listed) {
      expect(METRIC_NAME.test(name) || (title === 'API server' && namesOfKubeApiServer.test(name)) ? '' : name).toBe('')
      expect([name, help.trim().endsWith('.')]).toEqual([name, true])
    }
  })

  it('finds planted metrics, in sources and in registries', () => {
    const source = "import { Gauge } from 'prom-client'\nnew Gauge({ name: 'causeway_a_b' })\nadd('apiserver_c')"
    expect(metricNamesIn(source)).toEqual(['causeway_a_b', 'apiserver_c'])
    expect(metricNamesIn("const name = 'causeway_a_b'")).toEqual([])
    const registry = new Registry()
    new Gauge({ name: 'causeway_x_y', help: 'What.', labelNames: ['l'], registers: [registry] }).set(1)
    new Gauge({ name: 'process_z', help: 'Not ours.', registers: [registry] }).set(1)
    expect(metricsOf(registry)).toEqual([{ name: 'causeway_x_y', type: 'gauge', help: 'What.', labels: ['l'] }])
  })
})

import { register } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createRoleRegistry, METRIC_NAME } from './metrics.ts'

describe('createRoleRegistry', () => {
  it('says what is running and how the process does', async () => {
    const text = await createRoleRegistry('up', { version: '1.2.3' }).metrics()
    expect(text).toContain(`causeway_build_info{role="up",version="1.2.3",node_version="${process.versions.node}"} 1`)
    expect(text).toMatch(/^process_resident_memory_bytes \d+/m)
    expect(text).toMatch(/^process_start_time_seconds \d+/m)
  })

  it('keeps registries apart and the global one empty', async () => {
    const [first, second] = [createRoleRegistry('a', { version: '1' }), createRoleRegistry('b', { version: '1' })]
    expect(await first.metrics()).not.toContain('role="b"')
    expect(await second.metrics()).not.toContain('role="a"')
    expect(register.getMetricsAsArray()).toEqual([])
  })

  it('names its own metrics by the rule', () => {
    const names = createRoleRegistry('up', { version: '1' })
      .getMetricsAsArray()
      .map((metric) => metric.name)
    const ours = names.filter((name) => !/^(process|nodejs)_/.test(name))
    expect(ours.length).toBeGreaterThan(0)
    for (const name of ours) expect(name).toMatch(METRIC_NAME)
  })
})

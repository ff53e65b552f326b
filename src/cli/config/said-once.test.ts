import { expect, it } from 'vitest'
import { edgeRole } from './edge.ts'
import { loadConfig } from './load.ts'

it.each(['99999', '-1'])('says once why %s is no port', (endpointPort) => {
  const load = () => loadConfig(edgeRole, { flags: { endpointPort }, environment: {}, workingDir: '/' })
  expect(load).toThrow(/--endpoint-port: expected a whole number from \d+ to 65535, got the number \S+$/m)
})

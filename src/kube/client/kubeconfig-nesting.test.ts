import { expect, it } from 'vitest'
import { parseKubeconfig } from './kubeconfig-file.ts'

it.each([3_000, 4_500, 6_000])(
  'refuses a kubeconfig that nests %i deep, which the parser would not survive',
  (depth) => {
    expect(() => parseKubeconfig(`a: ${'['.repeat(depth)}`, 'config')).toThrow(
      'kubeconfig config: not valid YAML: nested',
    )
    expect(() => parseKubeconfig(`a: ${'- '.repeat(depth)}`, 'config')).toThrow('kubeconfig config: not valid YAML')
  },
)

import { expect, it } from 'vitest'
import { mergeTolerations } from './merge-tolerations.ts'

const exists = (key: string, more: object = {}) => ({ key, operator: 'Exists', ...more })

it.each([
  ['keeps what is different', [exists('a')], [exists('b')], [exists('a'), exists('b')]],
  ['keeps equal ones once', [exists('a')], [exists('a')], [exists('a')]],
  ['lets the wider one win, wherever it stands', [exists('a', { effect: 'NoSchedule' })], [exists('a')], [exists('a')]],
  ['knows the one that tolerates everything', [exists('a')], [{ operator: 'Exists' }], [{ operator: 'Exists' }]],
  [
    'lets a longer time win',
    [exists('a', { effect: 'NoExecute', tolerationSeconds: 5 })],
    [exists('a', { effect: 'NoExecute', tolerationSeconds: 9 })],
    [exists('a', { effect: 'NoExecute', tolerationSeconds: 9 })],
  ],
  [
    'keeps other values apart',
    [{ key: 'a', operator: 'Equal', value: 'x' }],
    [{ key: 'a', operator: 'Equal', value: 'y' }],
    [
      { key: 'a', operator: 'Equal', value: 'x' },
      { key: 'a', operator: 'Equal', value: 'y' },
    ],
  ],
])('%s', (_what, first, second, merged) => {
  expect(mergeTolerations(first, second)).toEqual(merged)
})

import { expect, it } from 'vitest'
import { sourceOf } from './source-address.ts'

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '20010db800010002/64'],
  ['2001:db8:1:2::', '20010db800010002/64'],
  ['2001:db8:1:3::1', '20010db800010003/64'],
  ['fe80::1%eth0', 'fe80000000000000/64'],
  ['::1', '0000000000000000/64'],
  ['', ''],
])('%s counts as %s', (address, source) => {
  expect(sourceOf(address)).toBe(source)
})

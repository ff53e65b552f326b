import { describe, expect, it } from 'vitest'
import { sourceAddressTowards } from './source-address.ts'

describe('our address towards a hub', () => {
  it('is the one the kernel would take', async () => {
    expect(await sourceAddressTowards(new URL('https://127.0.0.9:10000'))).toMatch(/^127\.0\.0\./)
  })
})

import { describe, expect, it } from 'vitest'
import { edgeRole } from './config/edge.ts'
import { loadConfig } from './config/load.ts'
import { upRole } from './config/up.ts'
import { replicaSettings } from './replica-settings.ts'

const read = (flags: Record<string, unknown>, role: typeof edgeRole | typeof upRole = edgeRole) =>
  replicaSettings(loadConfig(role as typeof edgeRole, { flags, environment: {}, workingDir: '/work' }).values)

const pods = { apiGroup: '', resource: 'pods', namespace: 'shop' }

describe('the settings of the replica', () => {
  it('are for all that is read, with a week of grace and a key of our own, if nothing is said', () => {
    for (const role of [edgeRole, upRole] as const) {
      const { policy, keyFile, tokenGraceMs } = read({}, role)
      expect([policy?.keeps(pods, false), keyFile, tokenGraceMs]).toEqual([true, undefined, 7 * 86_400_000])
    }
  })

  it('are taken from flags', () => {
    const { policy, keyFile, tokenGraceMs } = read({
      feeds: 'node',
      feedsInclude: 'configmaps/shop,secrets',
      feedsExclude: 'leases.coordination.k8s.io',
      replicaKeyFile: 'key',
      offlineTokenGrace: '36h',
    })
    expect([policy?.keeps(pods, false), policy?.keeps(pods, true)]).toEqual([false, true])
    expect(policy?.keeps({ ...pods, resource: 'secrets' }, false)).toBe(true)
    expect([keyFile, tokenGraceMs]).toEqual(['/work/key', 36 * 3_600_000])
  })

  it('say which flag is wrong, and what was probably meant', () => {
    expect(() => read({ feeds: 'some' })).toThrow('expected one of all, node, off')
    expect(() => read({ feedsExclude: 'secret' })).toThrow(/^--feeds-exclude: .*; did you mean "secrets"\?$/)
    expect(() => read({ feedsInclude: 'Pods' })).toThrow(/^--feeds-include: "Pods" is no pattern/)
    expect(() => read({ offlineTokenGrace: 'long' })).toThrow('expected a period such as 365d')
  })
})

import { describe, expect, it } from 'vitest'
import { parseFeedPatterns } from './feed-patterns.ts'
import { type FeedMode, feedPolicy, sharingLocal, USUAL_FEED_POLICY } from './feed-policy.ts'

const noSuggestion = (): string => ''

function policyOf(mode: FeedMode, include: readonly string[] = [], exclude: readonly string[] = []) {
  const read = (texts: readonly string[]) => parseFeedPatterns(texts, noSuggestion)
  return feedPolicy({ mode, include: read(include), exclude: read(exclude) })
}

const pods = { apiGroup: '', resource: 'pods', namespace: '' }
const shopPods = { ...pods, namespace: 'shop' }
const events = { apiGroup: '', resource: 'events', namespace: 'shop' }
const newEvents = { apiGroup: 'events.k8s.io', resource: 'events', namespace: '' }
const secrets = { apiGroup: '', resource: 'secrets', namespace: 'kube-system' }
const leases = { apiGroup: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease' }
const ciliumNodes = { apiGroup: 'cilium.io', resource: 'ciliumnodes', namespace: '' }

describe('what is kept', () => {
  it('is all but Events of either group, if nothing is said', () => {
    expect([pods, shopPods, secrets, leases].every((each) => USUAL_FEED_POLICY.keeps(each, false))).toBe(true)
    expect([events, newEvents].some((each) => USUAL_FEED_POLICY.keeps(each, true))).toBe(false)
  })

  it('is for the node alone in the mode for that, but for what is included', () => {
    const policy = policyOf('node', ['configmaps/shop'])
    expect([policy.keeps(pods, true), policy.keeps(pods, false)]).toEqual([true, false])
    expect(policy.keeps({ ...shopPods, resource: 'configmaps' }, false)).toBe(true)
  })

  it('is nothing but what is included when it is off', () => {
    expect([policyOf('off').isOff, policyOf('off', ['pods']).isOff]).toEqual([true, false])
    const policy = policyOf('off', ['*.cilium.io'])
    expect([policy.keeps(pods, true), policy.keeps(ciliumNodes, false)]).toEqual([false, true])
  })

  it('lacks what is excluded, unless that is included too', () => {
    const policy = policyOf('all', ['secrets/kube-system', 'events'], ['secrets', 'leases.coordination.k8s.io'])
    expect(policy.keeps(secrets, true)).toBe(true)
    expect(policy.keeps({ ...secrets, namespace: 'shop' }, true)).toBe(false)
    expect(policy.keeps(leases, true)).toBe(false)
    expect(policy.keeps(newEvents, false)).toBe(true)
  })

  it('goes by the namespace that is read: all of them at once are no single one', () => {
    const policy = policyOf('all', [], ['*/shop'])
    expect([policy.keeps(shopPods, true), policy.keeps(pods, true)]).toEqual([false, true])
  })
})

describe('what is shared', () => {
  const of = (apiGroup: string, apiVersion: string, resource: string) => ({ apiGroup, apiVersion, resource })

  it('is built in, or served by the API server itself as far as that is known', () => {
    const isLocal = ({ apiGroup, apiVersion }: { apiGroup: string; apiVersion: string }): boolean =>
      `${apiGroup}/${apiVersion}` === 'cilium.io/v2'
    const policy = sharingLocal(USUAL_FEED_POLICY, isLocal)
    expect([USUAL_FEED_POLICY, policy].map((each) => each.isShared(of('', 'v1', 'pods')))).toEqual([true, true])
    const nodes = of('cilium.io', 'v2', 'ciliumnodes')
    expect([USUAL_FEED_POLICY, policy].map((each) => each.isShared(nodes))).toEqual([false, true])
    expect(policy.isShared({ ...nodes, apiVersion: 'v3' })).toBe(false)
  })
})

describe('a pattern', () => {
  const read = (text: string) => parseFeedPatterns([text], (unknown) => ` (${unknown}?)`)

  it.each(['Pods', 'pods/', 'pods/a/b', '', 'pods./x', 'pods/UPPER', '*.*'])('is not %j', (text) => {
    expect(() => read(text)).toThrow(JSON.stringify(text))
  })

  it('names what Kubernetes has, or a group', () => {
    expect(() => read('secret')).toThrow('Kubernetes has no resource "secret" of its own')
    expect(() => read('secret')).toThrow('secret.example.com (secret?)')
    expect(read('widgets.example.com')).toEqual([{ resource: 'widgets', group: 'example.com', namespace: undefined }])
  })

  it('has no namespace for what is in none', () => {
    expect(() => read('nodes/shop')).toThrow('nodes are in no namespace; leave out "/shop"')
    expect(read('nodes/*')).toEqual([{ resource: 'nodes', group: undefined, namespace: undefined }])
  })
})

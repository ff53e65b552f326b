import { expect, it } from 'vitest'
import type { PolicyRule } from '../../request/authorizer.ts'
import { aggregatedRules, staleAggregations } from './aggregation.ts'
import { defaultPolicy } from './bootstrap-policy.ts'
import { type ClusterRole, nameOf } from './objects.ts'

const get = (resource: string): PolicyRule => ({ verbs: ['get'], apiGroups: [''], resources: [resource] })

function gathers(name: string, label: string, more: Partial<ClusterRole> = {}): ClusterRole {
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { [label]: 'yes' } }] }
  return { metadata: { name }, aggregationRule, ...more }
}

function labelled(name: string, label: string, rules: readonly PolicyRule[]): ClusterRole {
  return { metadata: { name, labels: { [label]: 'yes' } }, rules }
}

it('gathers by name, each rule once, never its own', () => {
  const sum = gathers('sum', 'l', { metadata: { name: 'sum', labels: { l: 'yes' } }, rules: [get('own')] })
  const roles = [
    labelled('b', 'l', [get('2'), get('1')]),
    labelled('a', 'l', [get('1'), { ...get('1'), resourceNames: [] }]),
    labelled('c', 'other', [get('3')]),
    sum,
  ]
  expect(aggregatedRules(sum, roles)).toEqual([get('1'), get('2')])
  expect(aggregatedRules(labelled('x', 'l', []), roles)).toBeUndefined()
})

it('leaves a role alone whose selectors cannot be read', () => {
  const selector = { matchExpressions: [{ key: 'a', operator: 'Maybe' }] }
  const role: ClusterRole = { metadata: { name: 'r' }, aggregationRule: { clusterRoleSelectors: [selector] } }
  expect(staleAggregations([role, labelled('a', 'a', [get('1')])])).toEqual([])
})

it('follows chains to their end, and then has nothing left to do', () => {
  const roles = defaultPolicy()
    .filter(({ resource }) => resource === 'clusterroles')
    .map(({ object }) => object as ClusterRole)
  const stale = staleAggregations(roles)
  expect(new Set(stale.map(nameOf))).toEqual(new Set(['admin', 'edit', 'view']))
  const [admin = [], edit = [], view = []] = ['admin', 'edit', 'view'].map(
    (name) => stale.find((role) => nameOf(role) === name)?.rules,
  )
  expect(view.length).toBeGreaterThan(10)
  expect(edit).toEqual(expect.arrayContaining([...view]))
  expect(admin).toEqual(expect.arrayContaining([...edit]))
  const updated = roles.map((role) => stale.find((newer) => nameOf(newer) === nameOf(role)) ?? role)
  expect(staleAggregations(updated)).toEqual([])
})

it('ends on roles that gather from each other', () => {
  const circle = [
    gathers('a', 'to-a', { metadata: { name: 'a', labels: { 'to-b': 'yes' } }, rules: [get('1')] }),
    gathers('b', 'to-b', { metadata: { name: 'b', labels: { 'to-a': 'yes' } }, rules: [get('2')] }),
  ]
  const stale = staleAggregations(circle)
  expect(stale.map(({ rules }) => rules)).toEqual([[get('2')]])
})

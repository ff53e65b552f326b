import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/objects.ts'
import { finished } from '../../../runtime/steps.ts'
import type { PolicyRule } from '../../request/authorizer.ts'
import { MASTERS_GROUP } from '../../request/user.ts'
import { RbacAuthorizer } from './authorizer.ts'
import { MAX_COMPARISONS } from './comparisons.ts'
import { EscalationCheck, MAX_PERMISSIONS_TO_CHECK, type PolicyWrite } from './escalation.ts'
import { MAX_ESCALATION_CHARACTERS } from './escalation-text.ts'
import { RbacView } from './view.ts'

const getPods: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const roleRef = (name: string): object => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name })

/** A policy in which `ann` holds these rules everywhere. */
function checkFor(held: readonly PolicyRule[]): { check(write: PolicyWrite): void } {
  const view = new RbacView()
  view.put('clusterroles', { metadata: { name: 'held' }, rules: held })
  view.put('clusterroles', { metadata: { name: 'strong' }, rules: [{ ...getPods, verbs: ['get', 'delete'] }] })
  const subjects = [{ kind: 'User', name: 'ann' }]
  view.put('clusterrolebindings', { metadata: { name: 'held' }, subjects, roleRef: roleRef('held') })
  const check = new EscalationCheck(view, new RbacAuthorizer(view))
  return { check: (write) => finished(check.checkSteps(write)) }
}

function write(object: KubeObject, more: Partial<PolicyWrite> = {}): PolicyWrite {
  const user = { name: 'ann', uid: '', groups: ['b', 'a'], extra: {} }
  return { user, resource: 'clusterroles', namespace: '', name: '', object, ...more }
}

function messageOf(act: () => void): string {
  try {
    act()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

const metadata = { name: 'new' }
const deletePods = { metadata, rules: [{ ...getPods, verbs: ['get', 'delete', 'list'] }] }
const refusal =
  'clusterroles.rbac.authorization.k8s.io "new" is forbidden: ' +
  'user "ann" (groups=["b" "a"]) is attempting to grant RBAC permissions not currently held:\n' +
  '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "list"]}'

describe('roles', () => {
  it('may say what their writer may', () => {
    expect(() => checkFor([getPods]).check(write({ metadata, rules: [getPods] }))).not.toThrow()
    expect(() => checkFor([getPods]).check(write({ metadata }))).not.toThrow()
  })

  it('may not say more', () => {
    expect(() => checkFor([getPods]).check(write(deletePods))).toThrow(
      expect.objectContaining({ code: 403, message: refusal }),
    )
  })

  it('may say anything when a master or one who may escalate writes', () => {
    const master = { name: 'root', uid: '', groups: [MASTERS_GROUP], extra: {} }
    expect(() => checkFor([]).check(write(deletePods, { user: master }))).not.toThrow()
    const escalate = { verbs: ['escalate'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'] }
    expect(() => checkFor([escalate]).check(write(deletePods))).not.toThrow()
    const named = { ...escalate, resourceNames: ['new'] }
    expect(() => checkFor([named]).check(write(deletePods, { name: 'new', previous: { metadata } }))).not.toThrow()
    expect(() => checkFor([named]).check(write(deletePods))).toThrow(/not currently held/)
  })

  it('may lose their owners and finalizers to anybody', () => {
    const previous = { ...deletePods, metadata: { ...metadata, finalizers: ['x'], managedFields: [{}] } }
    expect(() => checkFor([]).check(write(deletePods, { previous }))).not.toThrow()
    const changed = { ...previous, metadata: { ...previous.metadata, labels: { a: 'b' } } }
    expect(() => checkFor([]).check(write(deletePods, { previous: changed }))).toThrow(/not currently held/)
  })

  it('may gather, or stop to gather, only by those who hold everything', () => {
    const gathering = { metadata, aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }
    const everything = [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ]
    const message = /must have cluster-admin privileges to use the aggregationRule$/
    expect(() => checkFor([getPods]).check(write(gathering))).toThrow(message)
    expect(() => checkFor([getPods]).check(write({ metadata }, { previous: gathering }))).toThrow(message)
    expect(() => checkFor(everything).check(write(gathering))).not.toThrow()
  })

  it('may not be so wide that checking them would stop the server', () => {
    const many = Array.from({ length: Math.ceil(Math.sqrt(MAX_PERMISSIONS_TO_CHECK)) + 1 }, (_, index) => `r${index}`)
    const wide = { metadata, rules: [{ verbs: many, apiGroups: [''], resources: many }] }
    expect(() => checkFor([getPods]).check(write(wide))).toThrow(/split them into several roles/)
  })

  it('may not be held against more rules than anybody has time for', () => {
    const held = Array.from({ length: 3_000 }, (_, index) => ({ ...getPods, resourceNames: [`n${index}`] }))
    const rules = Array.from({ length: 3_000 }, (_, index) => ({ ...getPods, resourceNames: [`m${index}`] }))
    expect(() => checkFor(held).check(write({ metadata, rules }))).toThrow(
      `it takes more than ${MAX_COMPARISONS} comparisons with the rules that the user holds: split it into several roles`,
    )
  })

  it('are refused in words that can be read', () => {
    const long = 'x'.repeat(1_000)
    const resources = Array.from({ length: 100 }, (_, index) => `${long}${index}`)
    const message = messageOf(() => checkFor([]).check(write({ metadata, rules: [{ ...getPods, resources }] })))
    expect(message.length).toBeLessThan(MAX_ESCALATION_CHARACTERS * 2)
    expect(message.slice(-20)).toMatch(/\n\.\.\. and 84 more$/)
  })
})

describe('bindings', () => {
  const bind = (name: string): PolicyWrite =>
    write({ metadata, roleRef: roleRef(name), subjects: [] }, { resource: 'clusterrolebindings' })

  it('may hand out what their writer holds', () => {
    expect(() => checkFor([getPods]).check(bind('held'))).not.toThrow()
  })

  it('may not hand out more, unless their writer may bind that role', () => {
    expect(() => checkFor([getPods]).check(bind('strong'))).toThrow(
      /clusterrolebindings.* "new" is forbidden: .*Verbs:\["delete"\]/s,
    )
    const may = { verbs: ['bind'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'] }
    expect(() => checkFor([{ ...may, resourceNames: ['strong'] }]).check(bind('strong'))).not.toThrow()
    expect(() => checkFor([{ ...may, resourceNames: ['weak'] }]).check(bind('strong'))).toThrow(/not currently held/)
  })

  it('may not name a role that nobody can look into', () => {
    expect(() => checkFor([]).check(bind('gone'))).toThrow(expect.objectContaining({ code: 404 }))
    const odd = write({ metadata, roleRef: { ...roleRef('x'), kind: 'Odd' } }, { resource: 'clusterrolebindings' })
    expect(() => checkFor([]).check(odd)).toThrow('unsupported role reference kind: "Odd"')
  })
})

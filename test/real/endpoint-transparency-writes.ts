/**
 * Requests that change something, each a step of one story that is told in a namespace of its own by each way. What an API
 * server makes up for every object differs between them, and is replaced before the answers are compared.
 */
import type { Question } from './endpoint-transparency-client.ts'
import { NODE } from './endpoint-transparency-edge.ts'

const jsonType = 'application/json'
const oneMillion = 1_000_000
/** A little more than an API server takes. Of much more it leaves the rest unread, and closes the connection half a second later. */
const tooManyBytes = (3 * 1024 + 64) * 1024

/** Told in a namespace by an account that may write all of this. */
export function storyOfAccount(namespace: string): Question[] {
  const place = `/api/v1/namespaces/${namespace}`
  const maps = `${place}/configmaps`
  const own = `${maps}/own`
  const pod = { spec: { containers: [{ name: 'main', image: 'none' }] } }
  return [
    send('POST', '/api/v1/namespaces', { metadata: { name: namespace } }),
    send('POST', '/api/v1/namespaces', { metadata: { name: namespace } }),
    send('POST', `${maps}?dryRun=All`, { metadata: { name: 'own' }, data: { a: '1' } }),
    { path: own },
    send('POST', maps, { metadata: { name: 'own' }, data: { a: '1' } }),
    send('PUT', own, { metadata: { name: 'own' }, data: { a: '2' } }),
    send('PUT', own, { metadata: { name: 'own', resourceVersion: '1' }, data: { a: '3' } }),
    send('PUT', own, { metadata: { name: 'another' } }),
    ...patches(own),
    send('POST', maps, { metadata: { name: 'Not A Name' }, data: { 'not a key': 'x' } }),
    send('POST', maps, { metadata: { generateName: 'some-' }, kind: 'Secret', apiVersion: 'v1' }),
    { method: 'POST', path: maps, body: '{"metadata":', headers: { 'content-type': jsonType } },
    { method: 'POST', path: maps, body: 'text', headers: { 'content-type': 'text/plain' } },
    { method: 'POST', path: maps, body: '' },
    yaml(maps, `metadata: {name: written-in-yaml}\ndata: {a: "1"}\n`),
    { ...send('POST', maps, { metadata: { name: 'unmeasured' } }), isUnmeasured: true },
    send('POST', maps, { metadata: { name: 'large' }, data: { text: 'x'.repeat(oneMillion) } }),
    { path: `${maps}/large`, headers: { 'accept-encoding': 'gzip' } },
    send('POST', maps, { metadata: { name: 'larger' }, data: { text: 'x'.repeat(2 * oneMillion) } }),
    send('POST', `${place}/pods?fieldValidation=Warn`, { metadata: { name: 'warned' }, ...unknownFields(pod) }),
    send('POST', `${place}/pods?fieldValidation=Strict`, { metadata: { name: 'strict' }, ...unknownFields(pod) }),
    send('POST', `${place}/pods`, { metadata: { name: 'graced' }, ...pod }),
    send('POST', `${place}/pods/graced/binding`, {
      metadata: { name: 'graced' },
      target: { kind: 'Node', name: NODE },
    }),
    send('POST', `${place}/pods/graced/eviction`, { metadata: { name: 'graced' } }),
    send('DELETE', `${place}/pods/graced`, { gracePeriodSeconds: 30, propagationPolicy: 'Background' }),
    send('DELETE', `${place}/pods/graced`, { gracePeriodSeconds: 0, preconditions: { uid: 'another' } }),
    send('POST', `${place}/serviceaccounts`, { metadata: { name: 'other' } }),
    send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', selfSubjectReview),
    { method: 'DELETE', path: `${maps}?labelSelector=absent&dryRun=All` },
    { method: 'DELETE', path: own },
    { method: 'DELETE', path: own },
    { method: 'DELETE', path: `${place}/pods?gracePeriodSeconds=0` },
    { method: 'DELETE', path: maps },
    { path: maps },
    { method: 'DELETE', path: `/api/v1/namespaces/${namespace}` },
  ]
}

/** Of the node: what a kubelet writes, and what it may not. */
export function storyOfNode(namespace: string): Question[] {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
  const spec = { holderIdentity: namespace, leaseDurationSeconds: 40 }
  const status = { conditions: [{ type: 'Ready', status: 'True', reason: namespace }] }
  return [
    send('POST', leases, { metadata: { name: NODE }, spec }),
    send('PUT', `${leases}/${NODE}`, { metadata: { name: NODE }, spec: { ...spec, leaseDurationSeconds: 41 } }),
    patch(`/api/v1/nodes/${NODE}/status`, 'strategic-merge-patch', JSON.stringify({ status })),
    send('POST', leases, { metadata: { name: 'another' }, spec }),
    send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', selfSubjectReview),
    send('POST', '/api/v1/namespaces', { metadata: { name: namespace } }),
    { method: 'DELETE', path: `${leases}/${NODE}` },
  ]
}

const selfSubjectReview = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }

export const TOO_LARGE: Question = {
  method: 'POST',
  path: '/api/v1/namespaces/shared/configmaps',
  headers: { 'content-type': jsonType },
  body: 'x'.repeat(tooManyBytes),
}

function patches(own: string): Question[] {
  return [
    patch(own, 'json-patch', '[{"op":"add","path":"/data/b","value":"patched"}]'),
    patch(own, 'json-patch', '[{"op":"test","path":"/data/b","value":"other"}]'),
    patch(own, 'merge-patch', '{"data":{"b":null,"c":"merged"}}'),
    patch(own, 'strategic-merge-patch', '{"metadata":{"labels":{"d":"merged"}}}'),
    patch(`${own}?fieldManager=one&force=true`, 'apply-patch', applied('first')),
    patch(`${own}?fieldManager=two`, 'apply-patch', applied('second')),
    patch(`${own}?fieldManager=two&force=true&dryRun=All`, 'apply-patch', applied('second')),
    patch(own, 'apply-patch', applied('nameless')),
    patch(own, 'nonsense', '{}'),
  ]
}

function applied(value: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {applied: ${value}}\n`
}

function patch(path: string, kind: string, body: string): Question {
  const suffix = kind === 'apply-patch' ? 'yaml' : 'json'
  return { method: 'PATCH', path, body, headers: { 'content-type': `application/${kind}+${suffix}` } }
}

function send(method: string, path: string, object: object): Question {
  return { method, path, body: JSON.stringify(object), headers: { 'content-type': jsonType } }
}

function yaml(path: string, body: string): Question {
  return { method: 'POST', path, body, headers: { 'content-type': 'application/yaml', accept: 'application/yaml' } }
}

function unknownFields(pod: { readonly spec: object }): object {
  return { spec: { ...pod.spec, unknownOne: 1, unknownTwo: 2 } }
}

/** The text of an answer with everything replaced that an API server makes up for one object, or one version. */
export function withoutInventions(text: string, namespace = 'shared'): string {
  return text
    .replaceAll(namespace, 'NAMESPACE')
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'UID')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replaceAll(/(resourceVersion"?: ?)"\d+"/g, '$1VERSION')
    .replaceAll(/("continue": ?)"\w+"/g, '$1TOKEN')
}

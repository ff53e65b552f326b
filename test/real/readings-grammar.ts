/**
 * Random requests for the two servers: paths, queries, methods, headers and callers that are nearly right, since what is quite
 * wrong is refused by both. Small pieces come first, so that what is left of a failure is short.
 */
import * as fc from 'fast-check'
import { CALLERS } from './readings-world.ts'
import type { Asked } from './twins.ts'

const callers = fc.constantFrom('admin', ...CALLERS.map(({ name }) => name), undefined)

/** Often the plain word, sometimes one that is spelt in another way or means something else. */
function mostly(plain: readonly string[], odd: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...plain) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  )
}

const slashes = mostly(['/'], ['//', '/./', '/../', '%2F', '/%2e%2e/', '/ '.trim()])
const namespace = mostly(['one', 'two'], ['', 'three', 'One', '..', '%6Fne', 'status', 'kube-system', 'one%00', '*'])
const resource = mostly(
  ['secrets', 'configmaps', 'pods', 'leases', 'services'],
  ['nodes', 'namespaces', 'events', 'unknown', 'Secrets', 'secret', 'status', 'watch', 'proxy', '', 'bindings', '*'],
)
const name = mostly(
  ['allowed', 'other'],
  [
    '',
    'gone',
    'with.dots',
    'a:b',
    '..',
    '%2e%2e',
    'a%25b',
    'Allowed',
    '%61llowed',
    'allowed%2F',
    'edge-1',
    '*',
    'allowed;',
    'a b'.replace(' ', '+'),
  ],
)
const subresource = mostly(
  ['status', 'log', 'exec', 'proxy'],
  ['', 'scale', 'binding', 'eviction', 'token', 'unknown', 'finalize', 'x/y', '*', 'resize'],
)
const roots = mostly(
  ['/api/v1', '/apis/coordination.k8s.io/v1'],
  [
    '/api',
    '/apis',
    '/api/v2',
    '/apis/apps/v1',
    '/apis/coordination.k8s.io',
    '//api/v1',
    '/apis//v1',
    '/api//v1',
    '/API/v1',
    '/%61pi/v1',
    '/apis/nowhere.io/v1',
    '/healthz',
    '/version',
    '/openapi/v3',
    '',
  ],
)
const verbs = mostly([''], ['/watch', '/proxy', '/watch/watch'])

const path = fc
  .record({
    root: roots,
    verb: verbs,
    slash: slashes,
    namespace: fc.option(namespace, { nil: undefined, freq: 8 }),
    resource,
    name: fc.option(name, { nil: undefined, freq: 2 }),
    subresource: fc.option(subresource, { nil: undefined, freq: 1 }),
    end: mostly([''], ['/', '//', '/more', '/..', '%00']),
  })
  .map(({ root, verb, slash, namespace: space, resource: kind, name: object, subresource: part, end }) => {
    const scope = space === undefined ? '' : `/namespaces/${space}`
    const steps = [kind, ...(object === undefined ? [] : [object, ...(part === undefined ? [] : [part])])]
    return `${root}${verb}${scope}${slash}${steps.join('/')}${end}`
  })

const flags = mostly(['', '1', 'true', 'false', '0'], ['f', 'False', 'TRUE', 'x', '%zz', '%20', '-1', '2;'])
const numbers = mostly(
  ['0', '1', '5'],
  ['', '-1', 'abc', '9999999999999999999', '+1', '%2B1', '1.5', '0x1', '01', '1;', '%zz'],
)
const selectors = mostly(
  ['metadata.name%3Dallowed', 'metadata.name%3Dother', 'spec.nodeName%3Dedge-1', ''],
  [
    'metadata.name',
    'metadata.name!%3Dallowed',
    'metadata.name%3D%3Dallowed',
    'metadata.name%3D',
    'metadata.name%3Dallowed,',
    'metadata.name%3Dallowed,metadata.name%3Dother',
    'metadata.name%3Dallowed%5C',
    'unknown%3Dx',
    'metadata.namespace%3Done',
    'metadata.name=allowed',
    'metadata.name%3Dallowed;',
    'spec.nodeName%3Dedge-2',
    'spec.nodeName!%3Dedge-1',
    '%zz',
    '+metadata.name%3Dallowed',
    'metadata.name%3Da%2Fb',
    'metadata.name%3D..',
  ],
)
const labels = mostly(
  ['', 'app', 'app%3Dallowed'],
  ['!app', 'app+in+(allowed)', 'app+in', '%3D', 'app%3D', 'a,,b', 'a%2Fb%2Fc', 'app%3Dallowed;'],
)
const matches = mostly(['NotOlderThan', 'Exact', ''], ['x', 'exact'])

/** Names too may be spelt in another way. */
function pair(key: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const escaped = `%${key.charCodeAt(0).toString(16)}${key.slice(1)}`
  return fc
    .tuple(mostly([key], [escaped, key.toUpperCase(), `${key};`]), value)
    .map(([named, given]) => `${named}=${given}`)
}

const parameter = fc.oneof(
  { weight: 4, arbitrary: pair('fieldSelector', selectors) },
  { weight: 2, arbitrary: pair('watch', flags) },
  { weight: 1, arbitrary: pair('labelSelector', labels) },
  { weight: 1, arbitrary: pair('limit', numbers) },
  { weight: 1, arbitrary: pair('resourceVersion', mostly(['', '0'], ['1', 'abc', '-1', '00'])) },
  { weight: 1, arbitrary: pair('resourceVersionMatch', matches) },
  { weight: 1, arbitrary: pair('sendInitialEvents', flags) },
  { weight: 1, arbitrary: pair('allowWatchBookmarks', flags) },
  { weight: 1, arbitrary: pair('timeoutSeconds', numbers) },
  { weight: 1, arbitrary: pair('dryRun', mostly(['All'], ['', 'all', 'x', 'All;'])) },
  { weight: 1, arbitrary: pair('gracePeriodSeconds', numbers) },
  { weight: 1, arbitrary: pair('propagationPolicy', mostly(['Orphan', 'Background'], ['', 'x'])) },
  { weight: 1, arbitrary: pair('fieldValidation', mostly(['Strict', 'Ignore'], ['', 'x'])) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'watch',
      'continue=x',
      'pretty=true',
      ';',
      '&',
      '=',
      '%',
      'a=b',
      '?',
      'timeout=1s',
      'timeout=x',
      'uid=x',
      'orphanDependents=true',
    ),
  },
)

const header = fc.constantFrom<readonly [string, string]>(
  ['impersonate-user', 'alice'],
  ['impersonate-user', 'one-name'],
  ['impersonate-user', 'system:serviceaccount:one:default'],
  ['impersonate-user', 'system:serviceaccount:one'],
  ['impersonate-group', 'system:masters'],
  ['impersonate-group', 'developers'],
  ['impersonate-uid', 'u-1'],
  ['impersonate-extra-scopes', 'view'],
  ['x-remote-user', 'admin'],
  ['x-remote-group', 'system:masters'],
  ['x-http-method-override', 'DELETE'],
  ['accept', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'],
  ['accept', 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'],
  ['accept', 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'],
  ['accept', 'text/plain'],
)

const methods = mostly(
  ['GET', 'GET', 'GET', 'DELETE', 'PUT', 'PATCH', 'POST'],
  ['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'],
)
const types = mostly(
  ['application/json', 'application/merge-patch+json'],
  ['text/plain', 'application/json-patch+json', 'application/strategic-merge-patch+json', 'application/yaml', ''],
)
const bodies = fc.constantFrom<object | string>(
  {},
  { metadata: { name: 'allowed' } },
  { metadata: { name: 'allowed', namespace: 'two' } },
  { metadata: { name: 'fresh' } },
  { kind: 'DeleteOptions', dryRun: ['All'] },
  { metadata: { labels: { app: 'allowed' } } },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'allowed' } },
  { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'other' } },
  [],
  '',
  '{',
  'null',
)

/** Watches end themselves, unless they were told otherwise before. */
const brief = 'timeoutSeconds=1'

/** Only reads may be asked at once; what writes is asked alone, and what it changed is put back. */
export function isRead({ method }: Asked): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

/** A namespace that goes never comes back here: nobody empties it. */
export function isWrite(asked: Asked): boolean {
  const [path = ''] = asked.target.split('?')
  return !isRead(asked) && !/\/namespaces(\/|%2F)+[^/]*(\/|%2F|\.)*$/.test(path)
}

export const requests: fc.Arbitrary<Asked> = fc
  .record({
    by: callers,
    method: methods,
    path,
    query: fc.array(parameter, { maxLength: 4 }),
    headers: fc.array(header, { maxLength: 2, size: '-1' }),
    body: bodies,
    type: types,
  })
  .map(({ by, method, path: target, query, headers, body, type }): Asked => {
    const asked = { by, method, target: `${target}?${[...query, brief].join('&')}`, headers }
    return isRead(asked) || method === 'DELETE' ? asked : { ...asked, body, type }
  })

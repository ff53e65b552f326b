/**
 * Whatever authorization took for the name or the selector of a request narrows what is served: for random targets, read as
 * a request is read, an object that lies outside of what the caller was let in for is never selected.
 */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { selectionOf } from '../../src/apiserver/core/selection.ts'
import { routes } from '../../src/apiserver/delegation/routes.ts'
import { Item } from '../../src/apiserver/objects/item.ts'
import { collectionPrefix, storedResource } from '../../src/apiserver/objects/resource.ts'
import type { RequestContext } from '../../src/apiserver/request/handler.ts'
import { readCollectionOptions } from '../../src/kube/collection/options.ts'
import { type ResourceRequest, readRequest } from '../../src/kube/request-info.ts'
import { matchesFields, parseFieldSelector } from '../../src/kube/selectors/field.ts'
import { ApiError } from '../../src/kube/status/status.ts'

const names = ['allowed', 'other', 'a']
const nodes = ['edge-1', 'edge-2']
const namespaces = ['default', 'kube-system']
const pods = storedResource('', 'v1', 'pods')

/** Every name on every node in every namespace. */
const items = namespaces.flatMap((namespace) =>
  names.flatMap((name) =>
    nodes.map((nodeName) => {
      const object = { kind: 'Pod', apiVersion: 'v1', metadata: { name, namespace, uid: 'u' }, spec: { nodeName } }
      return new Item(`core/pods/${namespace}/${name}`, 1, Buffer.from(JSON.stringify(object)))
    }),
  ),
)

const field = fc.constantFrom('metadata.name', 'spec.nodeName', 'metadata.namespace', 'status.phase')
const value = fc.constantFrom(...names, ...nodes, ...namespaces, '', 'allowed;', 'allowed%', '%zz', ';', '&', '+')
const operator = fc.constantFrom('=', '==', '!=', '%3D', '!%3D', '%3D%3D')
const term = fc.tuple(field, operator, value).map((parts) => parts.join(''))
const selector = fc
  .tuple(fc.array(term, { maxLength: 3 }), fc.constantFrom(',', '%2C'))
  .map(([terms, comma]) => terms.join(comma))
const key = fc.constantFrom(
  'fieldSelector',
  'field%53elector',
  'fieldselector',
  'fieldSelector;',
  'labelSelector',
  'watch',
  'limit',
)
const pair = fc.oneof(
  fc.tuple(key, selector).map(([name, text]) => `${name}=${text}`),
  fc.constantFrom(
    'watch=1',
    'watch=false',
    'limit=x',
    'limit=1',
    ';',
    '%',
    'a=%zz',
    '',
    'fieldSelector',
    'timeoutSeconds=1',
  ),
)
const query = fc.array(pair, { maxLength: 4 }).map((pairs) => pairs.join('&'))
const segment = fc.constantFrom(
  'namespaces',
  'pods',
  'watch',
  ...namespaces,
  ...names,
  '',
  'status',
  '%70ods',
  'n%61mespaces',
)
const path = fc.oneof(
  fc.constantFrom('/api/v1/pods', '/api/v1/namespaces/default/pods', '/api/v1/watch/namespaces/default/pods/allowed'),
  fc.array(segment, { minLength: 1, maxLength: 6 }).map((parts) => `/api/v1/${parts.join('/')}`),
)

/** What a request would show; undefined where it is refused. */
async function shown(info: ResourceRequest, target: string): Promise<readonly Item[] | undefined> {
  if (pods === undefined || info.resource !== 'pods' || info.subresource !== '') return undefined
  const { query: read } = readRequest({ method: 'GET', path: target })
  const isWatch = info.verb === 'watch'
  if (info.verb !== 'list' && !isWatch) return undefined
  try {
    await routes({ info, exchange: { method: 'GET' } } as unknown as RequestContext)
    const options = readCollectionOptions({ info, query: read }, 'Pod', isWatch)
    const selection = selectionOf('Pod', options.labels, options.fields)
    return items
      .filter(({ key: itemKey }) => itemKey.startsWith(collectionPrefix(pods, info.namespace)))
      .filter(selection)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function read(target: string): ResourceRequest | undefined {
  try {
    const { info } = readRequest({ method: 'GET', path: target })
    return info.kind === 'resource' ? info : undefined
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

it('shows nothing beyond the name, the namespace and the selector that a caller was let in for', async () => {
  let answered = 0
  await fc.assert(
    fc.asyncProperty(path, query, async (targetPath, targetQuery) => {
      const target = `${targetPath}?${targetQuery}`
      const info = read(target)
      const seen = info === undefined ? undefined : await shown(info, target)
      if (info === undefined || seen === undefined) return
      answered += 1
      const authorized = parseFieldSelector(info.fieldSelector)
      for (const item of seen) {
        const { name, namespace } = item.object().metadata ?? {}
        expect([target, info.name === '' || info.name === name]).toEqual([target, true])
        expect([target, info.namespace === '' || info.namespace === namespace]).toEqual([target, true])
        expect([target, matchesFields(authorized, (asked) => item.field('Pod', asked))]).toEqual([target, true])
      }
    }),
    { numRuns: 20_000 },
  )
  // The others were refused: most of what is random makes no sense.
  expect(answered).toBeGreaterThan(2_000)
})

/** The object that a token shall live and die with: found, and checked to be the one that was meant. */

import type { BoundObjects, ClaimedObject } from '../../../identity/service-account/claims.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { conflict, notFound } from '../../../kube/status/resource-errors.ts'
import type { FindObject, PodSpec, TokenObject, TokenResource } from './find-object.ts'

export interface BoundObjectReference {
  readonly kind?: string
  readonly apiVersion?: string
  readonly name?: string
  readonly uid?: string
}

export interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

const resources: ReadonlyMap<string, TokenResource> = new Map([
  ['Pod', 'pods'],
  ['Secret', 'secrets'],
  ['Node', 'nodes'],
])

/** What a token is to be bound to. Throws an ApiError where the object is not there, or not one to bind to. */
export async function findBoundObjects(
  reference: BoundObjectReference,
  account: ServiceAccountName,
  find: FindObject,
): Promise<BoundObjects> {
  const { kind = '', name = '', uid = '' } = reference
  const { group, version } = groupVersionOf(reference.apiVersion ?? '')
  const resource = group === '' ? resources.get(kind) : undefined
  if (resource === undefined) {
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`)
  }
  const object = await existing(resource, resource === 'nodes' ? '' : account.namespace, name, find)
  const bound = await boundObjects(resource, object, account.name, find)
  if (uid === '' || uid === object.metadata?.uid) return bound
  throw conflict(
    { group: '', resource: kind },
    name,
    `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
  )
}

async function boundObjects(
  resource: TokenResource,
  object: TokenObject,
  accountName: string,
  find: FindObject,
): Promise<BoundObjects> {
  if (resource === 'pods') return await podAndNode(object, accountName, find)
  return resource === 'secrets' ? { secret: claimed(object) } : { node: claimed(object) }
}

async function podAndNode(pod: TokenObject, accountName: string, find: FindObject): Promise<BoundObjects> {
  const { serviceAccountName, nodeName = '' } = (pod['spec'] ?? {}) as PodSpec
  if (serviceAccountName !== accountName) {
    const subject = `cannot bind token for serviceaccount ${goQuote(accountName)}`
    throw badRequest(`${subject} to pod running with different serviceaccount name.`)
  }
  if (nodeName === '') return { pod: claimed(pod) }
  const node = await find('nodes', '', nodeName)
  return { pod: claimed(pod), node: node === undefined ? { name: nodeName, uid: '' } : claimed(node) }
}

/** The object of this name. Throws an ApiError where there is none, or cannot be one. */
export async function existing(
  resource: TokenResource,
  namespace: string,
  name: string,
  find: FindObject,
): Promise<TokenObject> {
  checkName(name)
  const object = await find(resource, namespace, name)
  if (object === undefined) throw notFound({ group: '', resource }, name)
  return object
}

/** A name that could not stand in a path is a mistake of the client, not an object that is missing. */
function checkName(name: string): void {
  if (name === '') throw badRequest('Name parameter required.')
  const breach =
    name === '.' || name === '..'
      ? `may not be '${name}'`
      : ['/', '%']
          .filter((character) => name.includes(character))
          .map((character) => `may not contain '${character}'`)
          .join(';')
  if (breach !== '') throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${breach}`)
}

export function claimed({ metadata }: TokenObject): ClaimedObject {
  return { name: metadata?.name ?? '', uid: metadata?.uid ?? '' }
}

/** What has more than one slash names no group at all, to an API server. */
function groupVersionOf(apiVersion: string): { readonly group: string; readonly version: string } {
  const parts = apiVersion.split('/')
  if (parts.length === 1) return { group: '', version: apiVersion }
  const [group = '', version = ''] = parts
  return parts.length === 2 ? { group, version } : { group: '', version: '' }
}

/** The answer of the authorization step: who may not do what, where. */
import { goQuote } from './go-text.ts'
import { forbidden } from './resource-errors.ts'
import type { ApiError } from './status.ts'

/** The parts of a resource request that the verdict names; a parsed request has them all. */
export interface DeniedResource {
  readonly kind: 'resource'
  readonly verb: string
  readonly apiGroup: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
}

export interface DeniedPath {
  readonly kind: 'non-resource'
  readonly verb: string
  readonly path: string
}

/** `reason` is what the authorizer wants to add, if anything. */
export function accessDenied(user: string, access: DeniedResource | DeniedPath, reason = ''): ApiError {
  const sentence = withoutMarkup(accessDeniedText(user, access))
  const why = reason === '' ? sentence : `${sentence}: ${reason}`
  return access.kind === 'resource'
    ? forbidden({ group: access.apiGroup, resource: access.resource }, access.name, why)
    : forbidden({ group: '', resource: '' }, '', why)
}

export function accessDeniedText(user: string, access: DeniedResource | DeniedPath): string {
  const who = `User ${goQuote(user)} cannot ${access.verb}`
  if (access.kind === 'non-resource') return `${who} path ${goQuote(access.path)}`
  const resource = access.subresource === '' ? access.resource : `${access.resource}/${access.subresource}`
  const where = access.namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(access.namespace)}`
  return `${who} resource ${goQuote(resource)} in API group ${goQuote(access.apiGroup)} ${where}`
}

const markup: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** The text repeats what the client sent; a browser must never read it as HTML. */
function withoutMarkup(text: string): string {
  return text.replaceAll(/[&<>]/g, (character) => markup[character] ?? character)
}

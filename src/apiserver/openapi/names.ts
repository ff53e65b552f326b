/** How messages, groups and versions are spelled in an OpenAPI document. */
import type { Schema } from './openapi.ts'

const root = 'k8s.io.'
const openApiRoot = 'io.k8s.'
/** Groups below these domains are named in operations without them. */
const groupDomains = /\.(k8s|kubernetes)\.io$/

/** `k8s.io.api.core.v1.Pod` is `io.k8s.api.core.v1.Pod` here; Go packages keep their dashes. */
export function schemaName(messageName: string): string {
  return `${openApiRoot}${messageName.slice(root.length).replaceAll('_', '-')}`
}

export function reference(messageName: string): Schema {
  return { $ref: `#/components/schemas/${schemaName(messageName)}` }
}

/** `rbac.authorization.k8s.io` becomes `rbacAuthorization`, core has its name. */
export function groupTag(group: string): string {
  if (group === '') return 'core'
  const [first = '', ...rest] = group.replace(groupDomains, '').split('.')
  return first + rest.map(capitalized).join('')
}

export function groupVersionTag(group: string, version: string): string {
  return `${groupTag(group)}_${version}`
}

/** The middle of an operation's name: `RbacAuthorizationV1`. */
export function groupVersionTitle(group: string, version: string): string {
  return capitalized(groupTag(group)) + capitalized(version)
}

export function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

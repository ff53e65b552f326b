/**
 * Node names and how certificates carry them: CN `system:node:<name>`, O `system:nodes`, as the API server's Node authorizer
 * reads them.
 */
import { attributeValues, type DistinguishedName, userName } from './distinguished-name.ts'

export const NODES_GROUP = 'system:nodes'
const userPrefix = 'system:node:'
/** A DNS subdomain (RFC 1123): what Kubernetes takes as the name of a Node. */
export const MAX_NODE_NAME_LENGTH = 253
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** What is wrong with the name, as a sentence; `undefined` if nothing is. */
export function nodeNameProblem(name: string): string | undefined {
  if (name === '') return 'a node name must not be empty'
  if (name.length > MAX_NODE_NAME_LENGTH)
    return `a node name has at most ${MAX_NODE_NAME_LENGTH} characters, this one has ${name.length}`
  if (subdomain.test(name)) return undefined
  return (
    `${JSON.stringify(name)} is not a node name: use lower case letters, digits, "-" and ".", ` +
    'with a letter or digit at both ends of each part'
  )
}

export function nodeSubject(node: string): DistinguishedName {
  return userName(userPrefix + node, [NODES_GROUP])
}

/** The node a subject is about; `undefined` for every subject that is not exactly one of a node. */
export function nodeOfSubject(subject: DistinguishedName): string | undefined {
  const [commonName = '', ...furtherNames] = attributeValues(subject, 'CN')
  const groups = attributeValues(subject, 'O')
  const isNode = subject.length === 2 && furtherNames.length === 0 && groups.length === 1 && groups[0] === NODES_GROUP
  if (!isNode || !commonName.startsWith(userPrefix)) return undefined
  const node = commonName.slice(userPrefix.length)
  return nodeNameProblem(node) === undefined ? node : undefined
}

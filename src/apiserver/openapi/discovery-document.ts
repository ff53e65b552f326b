/** The small OpenAPI documents: the paths of discovery, of the version and of the token issuer. */
import { componentSchemas } from './components.ts'
import { openApiDocument } from './group-version-document.ts'
import { capitalized, groupTag, reference } from './names.ts'
import type { Content, OpenApiDocument, PathItem, Schema } from './openapi.ts'
import { content, OBJECT_MEDIA_TYPES, UNAUTHORIZED } from './operations.ts'

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const versionInfoName = 'io.k8s.apimachinery.pkg.version.Info'
const text: Schema = { type: 'string' }

/** `/version` answers with a type that is in no table: it has never travelled as protobuf. */
const requiredVersionFields = [
  'major',
  'minor',
  'gitVersion',
  'gitCommit',
  'gitTreeState',
  'buildDate',
  'goVersion',
  'compiler',
  'platform',
]
const optionalVersionFields = ['emulationMajor', 'emulationMinor', 'minCompatibilityMajor', 'minCompatibilityMinor']

export function coreDiscoveryDocument(): OpenApiDocument {
  return discovery('/api/', 'core', 'getCoreAPIVersions', 'APIVersions')
}

export function groupsDiscoveryDocument(): OpenApiDocument {
  return discovery('/apis/', 'apis', 'getAPIVersions', 'APIGroupList')
}

export function groupDiscoveryDocument(group: string): OpenApiDocument {
  const tag = groupTag(group)
  return discovery(`/apis/${group}/`, tag, `get${capitalized(tag)}APIGroup`, 'APIGroup')
}

export function versionDocument(): OpenApiDocument {
  const body = content(['application/json'], { $ref: `#/components/schemas/${versionInfoName}` })
  const path = getPath('version', 'The version of this server.', 'getCodeVersion', body)
  return openApiDocument({ '/version/': path }, { [versionInfoName]: versionInfoSchema() })
}

export function issuerDocument(): OpenApiDocument {
  const description = 'The OpenID configuration of the issuer of service account tokens.'
  const body = content(['application/json'], text)
  const path = getPath('WellKnown', description, 'getServiceAccountIssuerOpenIDConfiguration', body)
  return openApiDocument({ '/.well-known/openid-configuration/': path }, {})
}

export function issuerKeysDocument(): OpenApiDocument {
  const description = 'The public keys that verify service account tokens.'
  const body = content(['application/jwk-set+json'], text)
  const path = getPath('openid', description, 'getServiceAccountIssuerOpenIDKeyset', body)
  return openApiDocument({ '/openid/v1/jwks/': path }, {})
}

function discovery(path: string, tag: string, operationId: string, kind: string): OpenApiDocument {
  const type = `${meta}.${kind}`
  const item = getPath(tag, 'What can be asked for here.', operationId, content(OBJECT_MEDIA_TYPES, reference(type)))
  return openApiDocument({ [path]: item }, componentSchemas([type], '', 'v1'))
}

function getPath(tag: string, description: string, operationId: string, body: Content): PathItem {
  const responses = { 200: { description: 'OK', content: body }, 401: UNAUTHORIZED }
  return { get: { tags: [tag], description, operationId, responses } }
}

function versionInfoSchema(): Schema {
  const required = requiredVersionFields.map((name) => [name, { type: 'string', default: '' }] as const)
  const optional = optionalVersionFields.map((name) => [name, { type: 'string' }] as const)
  const properties = [...required, ...optional].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    description: 'Which release the server is, and how it was built.',
    type: 'object',
    required: requiredVersionFields,
    properties: Object.fromEntries(properties),
  }
}

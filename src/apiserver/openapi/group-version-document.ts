/** The OpenAPI document of one group version. */
import { presentFields } from '../../kube/present-fields.ts'
import { kubernetesVersion } from '../../kube/schema/schema.ts'
import { componentSchemas } from './components.ts'
import type { OpenApiDocument, PathItem, Schema } from './openapi.ts'
import { pathsOfGroupVersion, type ServedGroupVersion } from './paths.ts'

const securitySchemes = {
  BearerToken: { type: 'apiKey', description: 'Bearer token', name: 'authorization', in: 'header' },
}

export function groupVersionDocument(served: ServedGroupVersion): OpenApiDocument {
  const { paths, types } = pathsOfGroupVersion(served)
  return openApiDocument(paths, componentSchemas(types, served.group, served.version))
}

export function openApiDocument(
  paths: Readonly<Record<string, PathItem>>,
  schemas: Readonly<Record<string, Schema>>,
): OpenApiDocument {
  const [, minorVersion = ''] = /^v(\d+\.\d+)/.exec(kubernetesVersion()) ?? []
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: minorVersion },
    paths,
    components: presentFields({ schemas: Object.keys(schemas).length === 0 ? undefined : schemas, securitySchemes }),
  }
}

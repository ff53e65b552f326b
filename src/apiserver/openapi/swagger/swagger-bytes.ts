/** The document of v2 in the forms in which clients take it, made from all documents of v3. */
import { kubernetesVersion } from '../../../kube/schema/schema.ts'
import type { OpenApiDocument } from '../openapi.ts'
import { swaggerOf } from './swagger.ts'
import { encodeSwagger } from './swagger-protobuf.ts'

export type SwaggerForm = 'json' | 'protobuf'

/** The documents are JSON. Takes as long as they took together. */
export function swaggerBytes(documents: readonly Uint8Array[], form: SwaggerForm): Buffer {
  const parsed = documents.map(
    ({ buffer, byteOffset, byteLength }) =>
      JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString('utf8')) as OpenApiDocument,
  )
  const swagger = swaggerOf(parsed, kubernetesVersion())
  return form === 'json' ? Buffer.from(JSON.stringify(swagger)) : encodeSwagger(swagger)
}

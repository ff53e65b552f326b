/** The parts of an OpenAPI v3 document that Kubernetes uses; the order of the keys is the order in which they print. */

export interface Schema {
  description?: string
  type?: 'string' | 'boolean' | 'integer' | 'number' | 'array' | 'object'
  format?: string
  default?: unknown
  enum?: readonly string[]
  uniqueItems?: boolean
  allOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  items?: Schema
  required?: readonly string[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  $ref?: string
  'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[]
  'x-kubernetes-list-map-keys'?: readonly string[]
  'x-kubernetes-list-type'?: string
  'x-kubernetes-map-type'?: string
  'x-kubernetes-patch-merge-key'?: string
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-unions'?: readonly Union[]
}

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Fields of which one at most is set, and the field that says which. */
export interface Union {
  readonly discriminator?: string
  readonly 'fields-to-discriminateBy': Readonly<Record<string, string>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly description?: string
  readonly required?: true
  readonly schema: Schema
}

export type Content = Record<string, { schema: Schema }>

export interface Response {
  readonly description: string
  readonly content?: Content
}

export interface Operation {
  readonly tags: readonly string[]
  readonly description: string
  readonly operationId: string
  parameters?: readonly Parameter[]
  requestBody?: { content: Content; required?: true }
  responses: Record<string, Response>
  'x-kubernetes-action'?: string
  'x-kubernetes-group-version-kind'?: GroupVersionKind
}

export const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const
export type Method = (typeof METHODS)[number]

export type PathItem = { [method in Method]?: Operation } & { parameters?: readonly Parameter[] }

export interface OpenApiDocument {
  readonly openapi: '3.0.0'
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas?: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
}

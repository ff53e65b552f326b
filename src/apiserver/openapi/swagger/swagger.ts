/**
 * OpenAPI v2, made from the documents of v3: one document about everything. Clients of today need it in few places, such as
 * kubectl for kinds it does not find and for an edit of several objects.
 */
import { presentFields } from '../../../kube/present-fields.ts'
import type { Content, GroupVersionKind, OpenApiDocument, Operation, Parameter, PathItem, Schema } from '../openapi.ts'
import { METHODS } from '../openapi.ts'

export type SwaggerSchema = Omit<Schema, 'allOf' | 'oneOf' | 'default' | 'enum'>

export interface SwaggerParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'body'
  readonly description?: string
  readonly required?: true
  readonly type?: string
  readonly uniqueItems?: true
  readonly schema?: SwaggerSchema
}

export interface SwaggerOperation {
  readonly tags: readonly string[]
  readonly description: string
  readonly operationId: string
  readonly consumes: readonly string[]
  readonly produces: readonly string[]
  readonly schemes: readonly ['https']
  readonly parameters?: readonly SwaggerParameter[]
  readonly responses: Readonly<Record<string, { readonly description: string; readonly schema?: SwaggerSchema }>>
}

export type SwaggerPath = Readonly<Record<string, SwaggerOperation | readonly SwaggerParameter[]>>

export interface SwaggerDocument {
  readonly swagger: '2.0'
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, SwaggerPath>>
  readonly definitions: Readonly<Record<string, SwaggerSchema>>
  readonly securityDefinitions: Readonly<Record<string, object>>
  readonly security: readonly object[]
}

const [oldPlace, newPlace] = ['#/components/schemas/', '#/definitions/']
const bearer = { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' }
const gvkKey = 'x-kubernetes-group-version-kind'

/** The parts may share types, and say the same about them; only which kinds they are for adds up. */
export function swaggerOf(parts: Iterable<OpenApiDocument>, version: string): SwaggerDocument {
  const paths: Record<string, SwaggerPath> = {}
  const definitions: Record<string, SwaggerSchema> = {}
  for (const { paths: own, components } of parts) {
    for (const [path, item] of Object.entries(own)) paths[path] = pathOf(item)
    for (const [name, schema] of Object.entries(components.schemas ?? {})) {
      definitions[name] = merged(definitions[name], schemaOf(schema))
    }
  }
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version },
    paths: sorted(paths),
    definitions: sorted(definitions),
    securityDefinitions: { BearerToken: bearer },
    security: [{ BearerToken: [] }],
  }
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function merged(present: SwaggerSchema | undefined, schema: SwaggerSchema): SwaggerSchema {
  const kinds = present?.[gvkKey]
  const more = schema[gvkKey]
  if (present === undefined || kinds === undefined || more === undefined) return present ?? schema
  const isNew = ({ group, version, kind }: GroupVersionKind): boolean =>
    !kinds.some((known) => known.group === group && known.version === version && known.kind === kind)
  return { ...present, [gvkKey]: [...kinds, ...more.filter(isNew)] }
}

/**
 * Values that may be of several types are strings here, a reference stands beside its description, and neither defaults
 * nor enumerations are told, as in the document of a kube-apiserver.
 */
function schemaOf({ allOf, oneOf, default: _default, enum: _enum, ...schema }: Schema): SwaggerSchema {
  const reference = allOf?.[0]?.$ref ?? schema.$ref
  const { items, additionalProperties, properties } = schema
  return presentFields({
    ...schema,
    type: oneOf === undefined ? schema.type : 'string',
    $ref: reference?.replace(oldPlace, newPlace),
    items: items && schemaOf(items),
    additionalProperties: additionalProperties && schemaOf(additionalProperties),
    properties: properties && mapped(properties, schemaOf),
  })
}

function mapped<From, To>(record: Readonly<Record<string, From>>, change: (item: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, item]) => [name, change(item)]))
}

function pathOf(item: PathItem): SwaggerPath {
  const path: Record<string, SwaggerOperation | SwaggerParameter[]> = {}
  for (const method of METHODS) {
    const operation = item[method]
    if (operation !== undefined) path[method] = operationOf(operation)
  }
  if (item.parameters !== undefined) path['parameters'] = item.parameters.map(parameterOf)
  return path
}

function operationOf({ requestBody, responses, parameters = [], ...operation }: Operation): SwaggerOperation {
  const body = requestBody === undefined ? [] : [bodyParameter(requestBody.content, requestBody.required)]
  const all = [...body, ...parameters.map(parameterOf)]
  const contents = Object.values(responses).map(({ content = {} }) => content)
  return {
    ...operation,
    consumes: requestBody === undefined ? ['*/*'] : Object.keys(requestBody.content),
    produces: [...new Set(contents.flatMap((content) => Object.keys(content)))],
    schemes: ['https'],
    ...(all.length === 0 ? {} : { parameters: all }),
    responses: mapped(responses, ({ description, content }) => ({ description, ...schemaIn(content) })),
  }
}

function parameterOf({ schema, ...parameter }: Parameter): SwaggerParameter {
  const { type, uniqueItems } = schema
  return presentFields({ ...parameter, type, uniqueItems: uniqueItems === true ? uniqueItems : undefined })
}

function bodyParameter(content: Content, required: true | undefined): SwaggerParameter {
  return presentFields({ name: 'body', in: 'body', required, ...schemaIn(content) })
}

/** All encodings of a body have the same schema. */
function schemaIn(content: Content = {}): { schema?: SwaggerSchema } {
  const [first] = Object.values(content)
  return first === undefined ? {} : { schema: schemaOf(first.schema) }
}

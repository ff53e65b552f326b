import { describe, expect, it } from 'vitest'
import { ProtoReader, WIRE_BYTES } from '../../../protobuf/reader.ts'
import type { OpenApiDocument } from '../openapi.ts'
import { swaggerOf } from './swagger.ts'
import { encodeSwagger } from './swagger-protobuf.ts'

const gvk = { group: 'g', version: 'v1', kind: 'Thing' }
const bodyOf = (name: string) => ({ 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } })

function document(kinds: readonly (typeof gvk)[] = [gvk]): OpenApiDocument {
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: '1' },
    paths: {
      '/things/{name}': {
        parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string', uniqueItems: true } }],
        patch: {
          tags: ['t'],
          description: 'd',
          operationId: 'patchThing',
          parameters: [{ name: 'fieldValidation', in: 'query', schema: { type: 'string' } }],
          requestBody: { content: { 'application/merge-patch+json': { schema: { type: 'object' } } }, required: true },
          responses: { 200: { description: 'OK', content: bodyOf('Thing') }, 401: { description: 'Unauthorized' } },
          'x-kubernetes-group-version-kind': gvk,
        },
      },
    },
    components: {
      securitySchemes: {},
      schemas: {
        Thing: {
          type: 'object',
          properties: {
            part: { description: 'A part.', default: {}, allOf: [{ $ref: '#/components/schemas/Part' }] },
            parts: { type: 'array', items: { default: {}, allOf: [{ $ref: '#/components/schemas/Part' }] } },
            port: { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
            sort: { type: 'string', enum: ['a', 'b'], default: 'a' },
          },
          'x-kubernetes-group-version-kind': kinds,
        },
        Part: { type: 'object', additionalProperties: { type: 'string', default: '' } },
      },
    },
  }
}

describe('a document of v2', () => {
  it('has references beside their descriptions, and no defaults or choices', () => {
    expect(swaggerOf([document()], 'v1.36.4').definitions).toEqual({
      Part: { type: 'object', additionalProperties: { type: 'string' } },
      Thing: {
        type: 'object',
        properties: {
          part: { description: 'A part.', $ref: '#/definitions/Part' },
          parts: { type: 'array', items: { $ref: '#/definitions/Part' } },
          port: { type: 'string', format: 'int-or-string' },
          sort: { type: 'string' },
        },
        'x-kubernetes-group-version-kind': [gvk],
      },
    })
  })

  it('says what goes in and out of an operation', () => {
    const path = swaggerOf([document()], 'v1.36.4').paths['/things/{name}']
    expect(path?.['parameters']).toEqual([
      { name: 'name', in: 'path', required: true, type: 'string', uniqueItems: true },
    ])
    expect(path?.['patch']).toMatchObject({
      consumes: ['application/merge-patch+json'],
      produces: ['application/json'],
      parameters: [
        { name: 'body', in: 'body', required: true, schema: { type: 'object' } },
        { name: 'fieldValidation', in: 'query', type: 'string' },
      ],
      responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/Thing' } }, 401: {} },
    })
  })

  it('adds up the kinds that share a type', () => {
    const other = { ...gvk, group: 'h' }
    const merged = swaggerOf([document(), document([gvk, other])], 'v1')
    expect(merged.definitions['Thing']?.['x-kubernetes-group-version-kind']).toEqual([gvk, other])
  })
})

/** The fields of a message, each number with the bytes of its values. */
function fieldsOf(bytes: Buffer): Map<number, Buffer[]> {
  const reader = new ProtoReader(bytes)
  const fields = new Map<number, Buffer[]>()
  while (reader.pos < bytes.length) {
    const tag = reader.uint32(bytes.length)
    const start = reader.pos
    if ((tag & 7) !== WIRE_BYTES) {
      reader.skip(tag & 7, bytes.length)
      continue
    }
    const end = reader.lengthDelimited(bytes.length)
    const value = bytes.subarray(reader.pos, end)
    expect(reader.pos).toBeGreaterThan(start)
    fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), value])
    reader.pos = end
  }
  return fields
}

/** The first value along a path of field numbers. */
function at(bytes: Buffer, ...path: number[]): Buffer {
  return path.reduce((message, number) => fieldsOf(message).get(number)?.[0] ?? Buffer.alloc(0), bytes)
}

it('is where clients look for it in protobuf', () => {
  const bytes = encodeSwagger(swaggerOf([document()], 'v1.36.4'))
  expect(at(bytes, 1).toString()).toBe('2.0')
  expect(at(bytes, 2, 2).toString()).toBe('v1.36.4')
  const [paths, path, item, patch] = [8, 2, 2, 8]
  expect(at(bytes, paths, path, 1).toString()).toBe('/things/{name}')
  const operation = at(bytes, paths, path, item, patch)
  expect(JSON.parse(at(operation, 13, 2, 2).toString())).toEqual(gvk)
  const parameters = fieldsOf(operation).get(8) ?? []
  expect(parameters.map((parameter) => at(parameter, 1, 1, 2).toString())).toEqual(['body', ''])
  expect(parameters.map((parameter) => at(parameter, 1, 2, 3, 4).toString())).toEqual(['', 'fieldValidation'])
  const [part, thing] = fieldsOf(at(bytes, 9)).get(1) ?? []
  expect(at(part ?? bytes, 1).toString()).toBe('Part')
  const properties = fieldsOf(at(thing ?? bytes, 2, 25)).get(1) ?? []
  expect(properties.map((property) => at(property, 1).toString())).toEqual(['part', 'parts', 'port', 'sort'])
  expect(at(properties[0] ?? bytes, 2, 1).toString()).toBe('#/definitions/Part')
})

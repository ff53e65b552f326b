/** The tables against the OpenAPI documents of the same release, which Kubernetes derives by other tools. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { planOf } from '../../src/kube/codec/plan.ts'
import { type FieldType, kubernetesVersion, listKinds, messageType } from '../../src/kube/schema/schema.ts'

interface OpenApiSchema {
  type?: string
  format?: string
  $ref?: string
  allOf?: { $ref?: string }[]
  properties?: Record<string, OpenApiSchema>
  required?: string[]
  'x-kubernetes-list-type'?: string
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-patch-merge-key'?: string
}

function openApiFolder(): string | undefined {
  try {
    const cache = execFileSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).trim()
    const folder = join(cache, 'k8s.io', `kubernetes@${kubernetesVersion()}`, 'api/openapi-spec/v3')
    return existsSync(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

const folder = openApiFolder()
const title = folder === undefined ? 'OpenAPI (skipped: no k8s.io/kubernetes in the Go module cache)' : 'OpenAPI'

describe.skipIf(folder === undefined)(title, () => {
  const schemas = new Map<string, OpenApiSchema>()
  for (const name of folder === undefined ? [] : readdirSync(folder)) {
    const document = JSON.parse(readFileSync(join(folder ?? '', name), 'utf8')) as {
      components?: { schemas?: Record<string, OpenApiSchema> }
    }
    for (const [key, schema] of Object.entries(document.components?.schemas ?? {})) schemas.set(key, schema)
  }

  it('has the same fields, required fields, list types, map keys and merge keys', () => {
    const differences: string[] = []
    let compared = 0
    for (const [name, schema] of schemas) {
      if (schema.properties === undefined || !name.startsWith('io.k8s.')) continue
      const fields = fieldsOf(
        `k8s.io.${name.slice('io.k8s.'.length).replace('kube-aggregator', 'kube_aggregator').replace('apiextensions-apiserver', 'apiextensions_apiserver')}`,
      )
      if (fields === undefined) continue
      compared++
      differences.push(...compare(name, schema, fields))
    }
    expect(differences).toEqual([])
    expect(compared).toBeGreaterThan(500)
  })

  it('gives every message of every kind a plan', () => {
    const seen = new Set<string>()
    const visit = (fullName: string): void => {
      if (seen.has(fullName)) return
      seen.add(fullName)
      const message = messageType(fullName)
      if (message.form === 'special') return
      planOf(message)
      for (const { message: inner } of message.fields) if (inner !== undefined) visit(inner.fullName)
    }
    for (const { packageName, kinds } of listKinds()) for (const kind of kinds) visit(`${packageName}.${kind}`)
    expect(seen.size).toBeGreaterThan(1_000)
  })
})

/** Kinds without a protobuf form (a Table, `version.Info`) are in no table. */
function fieldsOf(fullName: string): Map<string, FieldType> | undefined {
  try {
    const message = messageType(fullName)
    if (message.form !== 'fields') return undefined
    return new Map(planOf(message).slots.map(({ field }) => [field.jsonName, field]))
  } catch {
    return undefined
  }
}

function compare(name: string, schema: OpenApiSchema, fields: ReadonlyMap<string, FieldType>): string[] {
  const found: string[] = []
  const check = (what: string, ours: unknown, theirs: unknown): void => {
    const [left, right] = [JSON.stringify(ours), JSON.stringify(theirs)]
    if (left !== right) found.push(`${name}.${what}: ours ${left}, OpenAPI ${right}`)
  }
  const properties = Object.keys(schema.properties ?? {}).filter((key) => key !== 'apiVersion' && key !== 'kind')
  const names = [...fields.keys()].filter((key) => key !== 'apiVersion' && key !== 'kind')
  check('fields', names.sort(), properties.sort())
  const required = [...fields.values()].filter((field) => field.required).map(({ jsonName }) => jsonName)
  check('required', required.sort(), (schema.required ?? []).toSorted())
  for (const [key, field] of fields) {
    const property = schema.properties?.[key] ?? {}
    check(`${key} list type`, field.facts.listType, property['x-kubernetes-list-type'])
    check(`${key} map keys`, field.facts.mapKeys, property['x-kubernetes-list-map-keys'])
    check(`${key} patch strategy`, field.facts.patchStrategy, property['x-kubernetes-patch-strategy'])
    check(`${key} merge key`, field.facts.mergeKey, property['x-kubernetes-patch-merge-key'])
  }
  return found
}

import { describe, expect, it } from 'vitest'
import { builtInGroupVersions } from '../discovery/built-in.ts'
import { groupVersionDocument } from './group-version-document.ts'
import { METHODS, type OpenApiDocument, type Schema } from './openapi.ts'

function documentOf(group: string, version = 'v1'): OpenApiDocument {
  const served = builtInGroupVersions(() => true).find((one) => one.group === group && one.version === version)
  if (served === undefined) throw new Error(`no ${group}/${version}`)
  return groupVersionDocument(served)
}

function schema(document: OpenApiDocument, name: string): Schema {
  const found = document.components.schemas?.[name]
  if (found === undefined) throw new Error(`no schema ${name}`)
  return found
}

const core = documentOf('')
const apps = documentOf('apps')

describe('schemas', () => {
  it('name the release', () => {
    expect(apps.info).toEqual({ title: 'Kubernetes', version: expect.stringMatching(/^1\.\d+$/) })
  })

  it('hold everything that is referred to, and nothing else', () => {
    for (const document of [core, apps, documentOf('resource.k8s.io', 'v1beta1')]) {
      const text = JSON.stringify(document)
      const referred = new Set([...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name))
      expect(new Set(Object.keys(document.components.schemas ?? {}))).toEqual(referred)
    }
  })

  it('say how lists merge and what is default and required', () => {
    const container = schema(core, 'io.k8s.api.core.v1.Container')
    expect(container.required).toEqual(['name'])
    expect(container.properties?.['ports']).toMatchObject({
      type: 'array',
      items: { default: {}, allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.ContainerPort' }] },
      'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-patch-merge-key': 'containerPort',
      'x-kubernetes-patch-strategy': 'merge',
    })
    expect(container.properties?.['image']).toMatchObject({ type: 'string' })
    expect(container.properties?.['image']).not.toHaveProperty('default')
    expect(container.properties?.['name']).toMatchObject({ type: 'string', default: '' })
  })

  it('show inlined fields, with the values that they may have', () => {
    const ephemeral = schema(core, 'io.k8s.api.core.v1.EphemeralContainer').properties
    expect(ephemeral?.['imagePullPolicy']?.enum).toEqual(['Always', 'IfNotPresent', 'Never'])
    expect(schema(core, 'io.k8s.api.core.v1.Volume').properties).toHaveProperty('configMap')
  })

  it('share kinds with core, in their own name as well', () => {
    const gvk = (document: OpenApiDocument, kind: string) =>
      schema(document, `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}`)['x-kubernetes-group-version-kind']
    expect(gvk(apps, 'DeleteOptions')).toEqual([
      { group: '', kind: 'DeleteOptions', version: 'v1' },
      { group: 'apps', kind: 'DeleteOptions', version: 'v1' },
    ])
    expect(gvk(core, 'DeleteOptions')).toHaveLength(1)
    expect(gvk(apps, 'Status')).toEqual([{ group: '', kind: 'Status', version: 'v1' }])
  })

  it('describe every property, so that kubectl explain never says that there is no description', () => {
    for (const { properties } of Object.values(core.components.schemas ?? {})) {
      for (const property of Object.values(properties ?? {})) expect(property.description).toMatch(/\w\.$/)
    }
  })

  it('describe kinds by their resource and types by their home', () => {
    expect(schema(core, 'io.k8s.api.core.v1.Pod').description).toBe(
      'Pod of core/v1: resource pods, short po, namespaced.',
    )
    expect(schema(core, 'io.k8s.api.core.v1.PodSpec').description).toBe('PodSpec of core/v1.')
    const seconds = schema(core, 'io.k8s.api.core.v1.PodSpec').properties?.['activeDeadlineSeconds']
    expect(seconds?.description).toBe('Active deadline seconds.')
    expect(schema(core, 'io.k8s.api.core.v1.PodStatus').properties?.['hostIP']?.description).toBe('Host IP.')
  })
})

describe('paths', () => {
  it('give kubectl what it looks for in a PATCH', () => {
    const patch = apps.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}']?.patch
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({ group: 'apps', version: 'v1', kind: 'Deployment' })
    expect(patch?.parameters?.map(({ name }) => name)).toEqual(['dryRun', 'fieldManager', 'fieldValidation', 'force'])
  })

  it('name operations by group, version, scope and kind', () => {
    const ids = Object.values(documentOf('rbac.authorization.k8s.io').paths).map(({ get }) => get?.operationId)
    expect(ids).toContain('listRbacAuthorizationV1NamespacedRole')
    expect(ids).toContain('listRbacAuthorizationV1RoleForAllNamespaces')
    expect(ids).toContain('watchRbacAuthorizationV1ClusterRoleList')
  })

  it('have one operation of each name', () => {
    const ids = Object.values(core.paths).flatMap((item) =>
      METHODS.flatMap((method) => item[method]?.operationId ?? []),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('send subresources of another group by the kind of that group', () => {
    const { put } = apps.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale'] ?? {}
    expect(put?.['x-kubernetes-group-version-kind']).toEqual({ group: 'autoscaling', version: 'v1', kind: 'Scale' })
  })

  it('proxy every method, with and without a path', () => {
    const item = core.paths['/api/v1/namespaces/{namespace}/pods/{name}/proxy/{path}']
    expect(Object.keys(item ?? {})).toEqual(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'parameters'])
    expect(item?.parameters?.filter(({ name }) => name === 'path').map((one) => one.in)).toEqual(['path', 'query'])
  })

  it('answer a DELETE with the object where the server does', () => {
    const answer = (path: string) =>
      core.paths[`/api/v1/namespaces/{namespace}/${path}/{name}`]?.delete?.responses['200']?.content?.[
        'application/json'
      ]
    expect(answer('pods')?.schema.$ref).toMatch(/v1\.Pod$/)
    expect(answer('configmaps')?.schema.$ref).toMatch(/v1\.Status$/)
  })
})

import { describe, expect, it } from 'vitest'
import { findResource, findResourceOfKind, listGroupVersions, splitApiVersion } from './catalogue.ts'
import { findKind, kubernetesVersion, listKinds, messageType } from './schema.ts'

function field(message: string, jsonName: string) {
  return messageType(message).fields.find((candidate) => candidate.jsonName === jsonName)
}

describe('schema', () => {
  it('describes one release', () => {
    expect(kubernetesVersion()).toMatch(/^v1\.36\.\d+$/)
    expect(listKinds().length).toBeGreaterThan(50)
  })

  it('knows what is inlined, omitted and kept', () => {
    const [, source] = messageType('k8s.io.api.core.v1.Volume').fields
    expect(source).toMatchObject({ jsonName: '', number: 2, inline: true })
    expect(source?.message?.fullName).toBe('k8s.io.api.core.v1.VolumeSource')
    expect(field('k8s.io.api.core.v1.ContainerStatus', 'restartCount')).toMatchObject({
      omitEmpty: false,
      required: true,
    })
    expect(field('k8s.io.api.apps.v1.DeploymentStatus', 'readyReplicas')).toMatchObject({
      omitEmpty: true,
      pointer: false,
    })
    expect(field('k8s.io.api.core.v1.PodSpec', 'priority')).toMatchObject({
      omitEmpty: true,
      pointer: true,
      scalar: 'int32',
    })
  })

  it('knows how lists merge', () => {
    expect(field('k8s.io.api.core.v1.ServiceSpec', 'ports')?.facts).toEqual({
      listType: 'map',
      mapKeys: ['port', 'protocol'],
      patchStrategy: 'merge',
      mergeKey: 'port',
    })
    expect(field('k8s.io.api.core.v1.ServicePort', 'protocol')?.facts.default).toBe('TCP')
  })

  it('finds kinds by apiVersion and kind, and nothing by the names of object methods', () => {
    expect(findKind('apps/v1', 'Deployment')?.message.fullName).toBe('k8s.io.api.apps.v1.Deployment')
    expect(findKind('v1', 'Status')?.message.fullName).toBe('k8s.io.apimachinery.pkg.apis.meta.v1.Status')
    expect(findKind('batch/v1', 'DeleteOptions')?.message.fullName).toMatch(/meta\.v1\.DeleteOptions$/)
    expect(findKind('apps/v1', 'Pod')).toBeUndefined()
    expect(findKind('example.com/v1', 'DeleteOptions')).toBeUndefined()
    expect(findKind('constructor', 'toString')).toBeUndefined()
    expect(findKind('v1', 'constructor')).toBeUndefined()
  })
})

describe('catalogue', () => {
  it('lists core first and each group with one preferred version', () => {
    const rows = listGroupVersions()
    expect(rows[0]).toMatchObject({ group: '', version: 'v1', preferred: true })
    const groups = new Set(rows.map(({ group }) => group))
    expect(rows.filter(({ preferred }) => preferred).length).toBe(groups.size)
  })

  it('tells what discovery would tell', () => {
    expect(findResource('apps', 'v1', 'deployments')).toMatchObject({
      kind: 'Deployment',
      singular: 'deployment',
      namespaced: true,
      shortNames: ['deploy'],
      categories: ['all'],
      stored: 'apps/v1',
      subresources: [
        { name: 'scale', kind: 'Scale', groupVersion: 'autoscaling/v1' },
        { name: 'status', kind: 'Deployment' },
      ],
    })
    expect(findResource('autoscaling', 'v1', 'horizontalpodautoscalers')?.stored).toBe('autoscaling/v2')
    expect(findResource('authentication.k8s.io', 'v1', 'tokenreviews')?.stored).toBeUndefined()
    expect(findResource('', 'v1', 'none')).toBeUndefined()
  })

  it('leads from kinds to resources', () => {
    expect(findResourceOfKind('v1', 'Endpoints')?.resource).toBe('endpoints')
    expect(splitApiVersion('apps/v1')).toEqual({ group: 'apps', version: 'v1' })
    expect(splitApiVersion('v1')).toEqual({ group: '', version: 'v1' })
  })
})

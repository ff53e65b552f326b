import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { printJson } from '../codec/json.ts'
import type { KubeObject } from '../objects.ts'
import { listGroupVersions } from '../schema/catalogue.ts'
import { renderTable, type TableOptions } from './table.ts'

const nowMs = Date.UTC(2026, 0, 2)

function options(rest: Partial<TableOptions> = {}): TableOptions {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    includeObject: 'Metadata',
    version: 'v1',
    nowMs,
    withHeaders: true,
    ...rest,
  }
}

const config: KubeObject = {
  metadata: { name: 'a', resourceVersion: '7', creationTimestamp: '2026-01-01T23:00:00Z' },
  data: { x: '1' },
}

/** The cells of one object. Real objects are compared in test/contract/kinds/tables.test.ts; here is what they lack. */
function cells(apiVersion: string, kind: string, object: KubeObject): readonly unknown[] | undefined {
  return renderTable([object], options({ apiVersion, kind })).rows[0]?.cells
}

describe('renderTable', () => {
  it('prints a list in the order of an API server', () => {
    const table = renderTable(
      [config],
      options({ listMeta: { resourceVersion: '9', continue: 'c', remainingItemCount: 0 } }),
    )
    const prefix =
      '{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9","continue":"c","remainingItemCount":0}'
    expect(
      printJson(table).startsWith(`${prefix},"columnDefinitions":[{"name":"Name","type":"string","format":"name",`),
    ).toBe(true)
    expect(printJson(table.rows)).toBe(
      '[{"cells":["a",1,"60m"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"7","creationTimestamp":"2026-01-01T23:00:00Z"}}}]',
    )
  })

  it('takes the resourceVersion of a single object', () => {
    expect(renderTable([config], options()).metadata).toEqual({ resourceVersion: '7' })
    expect(renderTable([{}], options()).metadata).toEqual({})
  })

  it('leaves headers out where they were sent before', () => {
    expect(renderTable([config], options({ withHeaders: false })).columnDefinitions).toBeNull()
  })

  it('carries the objects as they were asked for', () => {
    const rowObject = (rest: Partial<TableOptions>, object = config) =>
      renderTable([object], options(rest)).rows[0]?.object
    expect(printJson(rowObject({ includeObject: 'Object' }))).toBe(
      printJson({ kind: 'ConfigMap', apiVersion: 'v1', ...config }),
    )
    const stored = { ...config, kind: 'Old', apiVersion: 'old/v1' }
    expect(rowObject({ includeObject: 'Object' }, stored)).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' })
    expect(rowObject({ includeObject: 'None' })).toBeNull()
    expect(rowObject({ version: 'v1beta1' })).toMatchObject({ apiVersion: 'meta.k8s.io/v1beta1' })
  })

  it('says where the initial events of a watch end, even to who wants no objects', () => {
    const bookmark = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } }
    expect(renderTable([bookmark], options({ includeObject: 'None' })).rows[0]?.object).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      ...bookmark,
    })
  })

  it('shows when kinds without columns of their own were made', () => {
    expect(cells('example.com/v1', 'Widget', config)).toEqual(['a', '2026-01-01T23:00:00Z'])
    expect(cells('example.com/v1', 'Widget', {})).toEqual(['', '0001-01-01T00:00:00Z'])
  })

  it('keeps a kind apart from its namesake in another group', () => {
    expect(cells('example.com/v1', 'Pod', config)).toHaveLength(2)
  })

  it('has a cell for every column, whatever the objects hold', () => {
    const kinds = listGroupVersions().flatMap(({ group, version, resources }) =>
      resources.map(({ kind }) => ({ apiVersion: group === '' ? version : `${group}/${version}`, kind })),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.dictionary(fc.constantFrom('metadata', 'spec', 'status', 'data', 'subsets', 'subjects'), fc.jsonValue()),
        (given, object) => {
          const { columnDefinitions, rows } = renderTable([object], options(given))
          expect(rows[0]?.cells).toHaveLength(columnDefinitions?.length ?? 0)
          for (const cell of rows[0]?.cells ?? []) expect(['string', 'number', 'boolean']).toContain(typeof cell)
        },
      ),
    )
  })
})

describe('cells that no sample shows', () => {
  it('reads a Status', () => {
    const status = { status: 'Failure', reason: 'NotFound', message: 'pods "x" not found' } as KubeObject
    expect(cells('v1', 'Status', status)).toEqual(['Failure', 'NotFound', 'pods "x" not found'])
  })

  it('reads certificate requests of pods', () => {
    const spec = {
      podName: 'p',
      serviceAccountName: 's',
      nodeName: 'n',
      signerName: 'e.com/s',
      unverifiedUserAnnotations: { b: '2', a: '1' },
    }
    const state = (...types: readonly string[]) =>
      cells('certificates.k8s.io/v1beta1', 'PodCertificateRequest', {
        metadata: { name: 'r' },
        spec,
        status: { conditions: types.map((type) => ({ type, status: 'True' })) },
      })
    expect(state()).toEqual(['r', 'p', 's', 'n', 'e.com/s', 'Pending', 'a=1,b=2'])
    expect(state('Issued')?.[5]).toBe('Issued')
    expect(state('SuggestedKeyType', 'Denied')?.[5]).toBe('Denied')
  })

  it('marks selectors that say nothing sensible', () => {
    const selector = { matchExpressions: [{ key: 'a', operator: 'Near' }] }
    expect(cells('apps/v1', 'Deployment', { spec: { selector } })?.at(-1)).toBe('<invalid>')
    expect(cells('apps/v1', 'ReplicaSet', { spec: { selector } })?.at(-1)).toBe('<error>')
  })

  it('keeps revisions that a number cannot hold', () => {
    expect(cells('apps/v1', 'ControllerRevision', { revision: 9_007_199_254_740_993n })?.[2]).toBe(
      9_007_199_254_740_993n,
    )
  })

  it('reads a scale', () => {
    const scale = { metadata: { name: 's' }, spec: { replicas: 3 }, status: { replicas: 2 } }
    const { columnDefinitions, rows } = renderTable([scale], options({ apiVersion: 'autoscaling/v1', kind: 'Scale' }))
    expect(columnDefinitions?.map(({ type }) => type)).toEqual(['string', 'integer', 'integer', 'string'])
    expect(rows[0]?.cells).toEqual(['s', 3, 2, '<unknown>'])
  })

  it('says what the API takes for granted', () => {
    expect(cells('storage.k8s.io/v1', 'StorageClass', {})?.slice(2, 5)).toEqual(['Delete', 'Immediate', false])
    expect(cells('storage.k8s.io/v1', 'CSIDriver', {})?.slice(1, -1)).toEqual([
      true,
      false,
      false,
      '<unset>',
      false,
      '<none>',
    ])
  })

  it('writes quantities canonically and quotas in the order of their names', () => {
    expect(cells('v1', 'PersistentVolume', { spec: { capacity: { storage: '1024Mi' } } })?.[1]).toBe('1Gi')
    const status = { hard: { pods: '2', cpu: '1', 'limits.memory': '1', 'limits.cpu': '2' }, used: { cpu: '0.5' } }
    const quota = cells('v1', 'ResourceQuota', { status })
    expect(quota?.slice(1, 3)).toEqual(['cpu: 500m/1, pods: 0/2', 'limits.cpu: 0/2, limits.memory: 0/1'])
  })

  it('shows all hosts of an ingress while they are few', () => {
    const rules = ['a.example.com', 'b.example.com'].map((host) => ({ host }))
    expect(cells('networking.k8s.io/v1', 'Ingress', { spec: { rules } })?.[2]).toBe('a.example.com,b.example.com')
  })

  it('reads the CPU target of autoscalers in the old shape', () => {
    const target = { spec: { targetCPUUtilizationPercentage: 80 } }
    expect(cells('autoscaling/v1', 'HorizontalPodAutoscaler', target)?.[2]).toBe('cpu: <unknown>/80%')
    const measured = { ...target, status: { currentCPUUtilizationPercentage: 30 } }
    expect(cells('autoscaling/v1', 'HorizontalPodAutoscaler', measured)?.[2]).toBe('cpu: 30%/80%')
  })

  it('lists flow schemas in the order in which they are tried', () => {
    const schema = (name: string, matchingPrecedence: number) => ({ metadata: { name }, spec: { matchingPrecedence } })
    const schemas = [schema('c', 5), schema('b', 9), schema('a', 9), schema('d', 1)]
    const { rows } = renderTable(
      schemas,
      options({ apiVersion: 'flowcontrol.apiserver.k8s.io/v1', kind: 'FlowSchema' }),
    )
    expect(rows.map((row) => row.cells[0])).toEqual(['d', 'c', 'a', 'b'])
    expect(schemas[0]?.metadata.name).toBe('c')
  })
})

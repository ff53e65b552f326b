/**
 * Tables against the real kube-apiserver: every list that it serves, asked for as a Table with its objects, and ours of
 * the same objects at the same time. Columns and cells must be equal; descriptions are prose and are not compared.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseJson, printJson } from '../../src/kube/codec/json.ts'
import type { KubeObject, ObjectMeta } from '../../src/kube/objects.ts'
import { findResourceOfKind, listGroupVersions, splitApiVersion } from '../../src/kube/schema/catalogue.ts'
import { renderTable, type Table, type TableOptions, type TableRow } from '../../src/kube/tables/table.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import {
  formatTableSamples,
  ourFacts,
  type TableSample,
  tableFacts,
  tableSamplesFile,
} from '../contract/kinds/table-samples.ts'
import { fixtures as plainFixtures } from './codec-fixtures.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'
import { tableFixtures } from './table-fixtures/index.ts'
import { placeholders, type TableFixture } from './table-fixtures/parts.ts'

const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const mergePatch = 'application/merge-patch+json'
/** The bootstrap objects are many and alike: a sample keeps a few of them beside our own. */
const keptOthers = 3

/** An autoscaler in the old shape tells of metrics other than CPU in an annotation only, and not in their order. */
const oldMetricsAnnotation = 'autoscaling.alpha.kubernetes.io/metrics'

describeReal('tables against kube-apiserver', () => {
  let plane: ControlPlane
  let agent: Agent

  beforeAll(async () => {
    plane = await startControlPlane({
      apiServerFlags: ['--runtime-config=api/all=true', '--feature-gates=AllAlpha=true,AllBeta=true'],
    })
    agent = new Agent({ connect: { ca: readFileSync(plane.caFile) } })
  })
  afterAll(async () => {
    await agent?.destroy()
    await plane?.stop()
  })

  async function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, accept: string, body = '') {
    const contentType = method === 'PATCH' ? mergePatch : 'application/json'
    const response = await request(plane.server + path, {
      method,
      dispatcher: agent,
      headers: { accept, authorization: `Bearer ${plane.adminToken}`, 'content-type': contentType },
      body,
    })
    return { code: response.statusCode, text: await response.body.text() }
  }

  async function getTable(path: string): Promise<Table> {
    const answer = await call('GET', path, tableType)
    expect(answer.code, `${path}: ${answer.text}`).toBe(200)
    return parseJson(answer.text) as Table
  }

  /** Of a watch, up to the bookmark that ends its initial events. */
  async function initialLines(path: string): Promise<string[]> {
    const headers = { accept: tableType, authorization: `Bearer ${plane.adminToken}` }
    const { body } = await request(plane.server + path, { dispatcher: agent, headers })
    let text = ''
    for await (const chunk of body.setEncoding('utf8')) {
      text += chunk as string
      if (/initial-events-end.*\n$/.test(text)) break
    }
    return text.trimEnd().split('\n')
  }

  it('stores the objects and their status', async () => {
    const refused: string[] = []
    const play = async (method: 'POST' | 'PATCH' | 'DELETE', path: string, body = ''): Promise<void> => {
      const { code, text } = await call(method, path, 'application/json', body)
      if (code >= 300) refused.push(`${method} ${path}: ${code} ${text}`)
    }
    const text = filledIn(plane)
    const fixtures: TableFixture[] = [
      ...plainFixtures.map((object) => ({ object })),
      ...tableFixtures(systemClock.nowMs()),
    ]
    for (const { object } of fixtures) await play('POST', collectionPath(object), text(object))
    for (const { object, approval, status } of fixtures) {
      if (approval !== undefined) await play('PATCH', `${objectPath(object)}/approval`, text({ status: approval }))
      if (status !== undefined) await play('PATCH', `${objectPath(object)}/status`, text({ status }))
    }
    for (const { object, deleted } of fixtures) if (deleted === true) await play('DELETE', objectPath(object))
    expect(refused).toEqual([])
  })

  it('has the columns and cells of every list', async () => {
    const kept: TableSample[] = []
    for (const { group, version, resources } of listGroupVersions()) {
      const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
      for (const resource of resources.filter(({ verbs }) => verbs.includes('list'))) {
        const path = `${root}/${resource.resource}?includeObject=Object`
        const beforeMs = systemClock.nowMs()
        const answer = await call('GET', path, tableType)
        const afterMs = systemClock.nowMs()
        if (answer.code === 404) continue
        expect(answer.code, `${path}: ${answer.text}`).toBe(200)
        const apiVersion = group === '' ? version : `${group}/${version}`
        const table = comparable(parseJson(answer.text) as Table)
        kept.push(compare(apiVersion, resource.kind, table, { beforeMs, afterMs }))
      }
    }
    expect(kept.length).toBeGreaterThan(70)
    if (process.env['CAUSEWAY_REWRITE'] === '1') writeFileSync(tableSamplesFile, formatTableSamples(kept))
  })

  it.each([
    ['a list', '/api/v1/namespaces/default/pods?limit=2', {}],
    ['its end', '/api/v1/namespaces/default/configmaps', {}],
    ['an empty list', '/api/v1/namespaces/none/pods', {}],
    ['objects', '/api/v1/namespaces/default/configmaps?includeObject=Object', { includeObject: 'Object' }],
    ['no objects', '/api/v1/namespaces/default/configmaps?includeObject=None', { includeObject: 'None' }],
  ] as const)('prints %s like the API server', async (_what, path, given) => {
    const kind = path.includes('pods') ? 'Pod' : 'ConfigMap'
    const table = await getTable(path)
    const list = parseJson((await call('GET', path.replace(/includeObject=\w+/, ''), 'application/json')).text) as {
      items: KubeObject[]
    }
    const listMeta = table.metadata
    expect(printed(list.items, { kind, listMeta, ...given }, table)).toBe(withOurProse(table, kind))
  })

  it('prints single objects like the API server', async () => {
    const path = '/api/v1/namespaces/default/configmaps/table'
    const object = parseJson((await call('GET', path, 'application/json')).text) as KubeObject
    const single = await getTable(path)
    expect(printed([object], { kind: 'ConfigMap' }, single)).toBe(withOurProse(single, 'ConfigMap'))
    const beta = parseJson((await call('GET', path, tableType.replace('v=v1', 'v=v1beta1'))).text) as Table
    expect(printed([object], { kind: 'ConfigMap', version: 'v1beta1' }, beta)).toBe(withOurProse(beta, 'ConfigMap'))
  })

  it('shows the scale of a deployment', async () => {
    const path = '/apis/apps/v1/namespaces/default/deployments/table/scale?includeObject=Object'
    const beforeMs = systemClock.nowMs()
    const table = await getTable(path)
    compare('autoscaling/v1', 'Scale', table, { beforeMs, afterMs: systemClock.nowMs() })
  })

  it('prints watch events like the API server', async () => {
    const streamed = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    const path = `/api/v1/namespaces/default/configmaps?includeObject=None&${streamed}`
    const lines = await initialLines(path)
    const tables = lines.map((line) => (parseJson(line) as { object: Table }).object)
    expect(tables.map(({ columnDefinitions }) => columnDefinitions !== null)).toEqual(
      tables.map((_, index) => index === 0),
    )
    const bookmark = tables.at(-1)
    const bookmarked: KubeObject = { metadata: bookmark?.rows[0]?.object?.metadata as ObjectMeta }
    expect(
      printed([bookmarked], { kind: 'ConfigMap', includeObject: 'None', withHeaders: false }, bookmark as Table),
    ).toBe(printJson(bookmark))
  })
})

function collectionPath({ apiVersion = '', kind = '' }: KubeObject): string {
  const { group, version } = splitApiVersion(apiVersion)
  const resource = findResourceOfKind(apiVersion, kind)
  if (resource === undefined) throw new Error(`not in the catalogue: ${apiVersion} ${kind}`)
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${resource.namespaced ? '/namespaces/default' : ''}/${resource.resource}`
}

function objectPath(object: KubeObject): string {
  return `${collectionPath(object)}/${object.metadata?.name}`
}

/** JSON of an object, with the certificates that its placeholders stand for. */
function filledIn(plane: ControlPlane): (value: object) => string {
  const certificate = readFileSync(plane.caFile, 'utf8')
  const request = execFileSync('openssl', ['req', '-new', '-key', plane.clientKeyFile, '-subj', '/CN=x'])
  return (value) =>
    printJson(value)
      .replace(placeholders.request, request.toString('base64'))
      .replace(`"${placeholders.certificate}"`, JSON.stringify(certificate))
      .replace(placeholders.encodedCertificate, Buffer.from(certificate).toString('base64'))
}

/** Without rows that cannot be equal, and without cells that no column declares. */
function comparable(table: Table): Table {
  const columns = table.columnDefinitions?.length
  const rows = table.rows ?? []
  const told = rows.filter(({ object }) => object?.metadata?.annotations?.[oldMetricsAnnotation] === undefined)
  return { ...table, rows: told.map((row) => ({ ...row, cells: row.cells.slice(0, columns) })) }
}

/** Within it the API server made a table. */
interface Period {
  readonly beforeMs: number
  readonly afterMs: number
}

/** Often the first or the last of them is the right one, however long it took. */
function instantsOf({ beforeMs, afterMs }: Period): number[] {
  const between = Array.from({ length: Math.max(0, afterMs - beforeMs - 1) }, (_, index) => beforeMs + 1 + index)
  return [beforeMs, afterMs, ...between]
}

/**
 * Ours of one instant of the period must be equal. Component statuses are probed anew for each request and come in any
 * order.
 */
function compare(apiVersion: string, kind: string, real: Table, period: Period): TableSample {
  const listed = real.rows.map(({ object }) => withoutManagedFields(object as KubeObject))
  const objects = kind === 'ComponentStatus' ? listed : listed.toSorted(byKey)
  const table = tableFacts(real)
  const candidates = instantsOf(period).map((nowMs) => ({ apiVersion, kind, nowMs, objects, table }))
  const sample = candidates.find((candidate) => printJson(ourFacts(candidate)) === printJson(table)) ?? candidates[0]
  if (sample === undefined) throw new Error('no instant to compare with')
  expect(ourFacts(sample), `${apiVersion} ${kind}`).toEqual(table)
  const isKept = excerpt(real)
  const rows = real.rows.filter(isKept)
  return { ...sample, objects: objects.filter((object) => isKept({ object })), table: tableFacts({ ...real, rows }) }
}

/** The order of the store. */
function byKey(left: KubeObject, right: KubeObject): number {
  return storeKey(left) < storeKey(right) ? -1 : 1
}

function storeKey({ metadata }: Pick<KubeObject, 'metadata'>): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name}`
}

function withoutManagedFields({ metadata, ...rest }: KubeObject): KubeObject {
  const { managedFields: _, ...kept } = metadata ?? {}
  return { metadata: kept, ...rest }
}

/** Our own objects and a few others, none of which knows the machine. */
function excerpt(table: Table): (row: Pick<TableRow, 'object'>) => boolean {
  const keys = table.rows.map(({ object }) => storeKey(object ?? {}))
  const isOurs = (key: string): boolean => /table|example/.test(key)
  const others = keys.filter((key) => !isOurs(key) && !key.includes('apiserver-')).slice(0, keptOthers)
  const kept = new Set([...keys.filter(isOurs), ...others])
  return ({ object }) => kept.has(storeKey(object ?? {}))
}

/** Our table in the words of `printJson`; ages come from the real one, they are compared elsewhere. */
function printed(
  objects: readonly KubeObject[],
  options: Partial<TableOptions> & { kind: string },
  real: Table,
): string {
  const table = renderTable(objects, {
    apiVersion: 'v1',
    includeObject: 'Metadata',
    version: 'v1',
    nowMs: systemClock.nowMs(),
    withHeaders: true,
    ...options,
  })
  const rows = table.rows.map((row, index) => ({ ...row, cells: real.rows[index]?.cells ?? row.cells }))
  return printJson({ ...table, rows: rows.map(withoutMessages) })
}

function withOurProse(real: Table, kind: string): string {
  const ours = renderTable([], {
    kind,
    apiVersion: 'v1',
    includeObject: 'None',
    version: 'v1',
    nowMs: 0,
    withHeaders: true,
  })
  const columnDefinitions = real.columnDefinitions?.map((column, index) => ({
    ...column,
    description: ours.columnDefinitions?.[index]?.description,
  }))
  return printJson({ ...real, columnDefinitions, rows: real.rows.map(withoutMessages) })
}

function withoutMessages(row: TableRow): object {
  if (row.conditions === undefined) return row
  return { ...row, conditions: row.conditions.map(({ type, status, reason }) => ({ type, status, reason })) }
}

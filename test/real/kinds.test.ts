/**
 * The strategies of kinds against the real kube-apiserver: what it makes of minimal objects, how it refuses bad ones and
 * what it lets updates change. `CAUSEWAY_REWRITE=1` keeps its answers for the suite that needs no binaries.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseJson, printJson } from '../../src/kube/codec/json.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { findResourceOfKind, splitApiVersion } from '../../src/kube/schema/catalogue.ts'
import {
  comparable,
  type KindSample,
  ourAnswer,
  type SampleTable,
  writeSamples,
} from '../contract/kinds/kinds-samples.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'
import { defaultCases, invalidCases, updateCases } from './kinds-cases.ts'

/** Admission is another layer: here it would only add to what the kinds themselves do. */
const admissionPlugins = [
  'DefaultStorageClass',
  'DefaultTolerationSeconds',
  'LimitRanger',
  'Priority',
  'ResourceQuota',
  'RuntimeClass',
  'StorageObjectInUseProtection',
  'TaintNodesByCondition',
]
const allVersions = '--runtime-config=api/all=true'

describeReal('kinds against kube-apiserver', () => {
  let plane: ControlPlane
  let certificateRequest: string

  beforeAll(async () => {
    const flags = [allVersions, `--disable-admission-plugins=${admissionPlugins.join(',')}`]
    plane = await startControlPlane({ apiServerFlags: flags })
    certificateRequest = makeCertificateRequest(plane.directory)
  })
  afterAll(() => plane?.stop())

  function call(method: string, path: string, body?: KubeObject): Promise<KubeObject> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${plane.adminToken}`, 'content-type': 'application/json' }
      const options = { method, ca: readFileSync(plane.caFile), headers }
      const request = httpsRequest(plane.server + path, options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve(parseJson(Buffer.concat(chunks).toString('utf8')) as KubeObject))
      })
      request.on('error', reject)
      request.end(body === undefined ? undefined : printJson(body))
    })
  }

  function withRequest(object: KubeObject): KubeObject {
    return parseJson(printJson(object).replace('__CSR__', certificateRequest)) as KubeObject
  }

  async function createSample(object: KubeObject): Promise<KindSample> {
    const given = withRequest(object)
    const answer = await call('POST', `${collectionPath(given)}?dryRun=All`, given)
    return { what: `${object.kind} ${object.metadata?.name?.slice(0, 40)}`, given, answer: withoutManagers(answer) }
  }

  function check(samples: readonly KindSample[], table: SampleTable): void {
    if (process.env['CAUSEWAY_REWRITE'] === '1') writeSamples(table, samples)
    for (const sample of samples) {
      expect.soft(comparable(ourAnswer(sample)), sample.what).toEqual(comparable(sample.answer))
    }
  }

  it('completes minimal objects', async () => {
    const samples: KindSample[] = []
    for (const object of defaultCases) samples.push(await createSample(object))
    expect(samples.filter(({ answer }) => answer.kind === 'Status')).toEqual([])
    check(samples, 'defaults')
  })

  it('refuses bad objects with the same words', async () => {
    const samples: KindSample[] = []
    for (const object of invalidCases) samples.push(await createSample(object))
    expect(samples.filter(({ answer }) => answer['reason'] !== 'Invalid')).toEqual([])
    check(samples, 'errors')
  })

  it('lets updates change what may change', async () => {
    const samples: KindSample[] = []
    for (const { what, created, status, subresource, change } of updateCases) {
      const path = `${collectionPath(created)}/${created.metadata?.name}`
      let old = await call('POST', collectionPath(created), withRequest(created))
      if (status !== undefined) old = await call('PUT', `${path}/status`, { ...old, status })
      expect(old.kind, printJson(old)).toBe(created.kind)
      const given = structuredClone(withoutManagers(old))
      change(given)
      const writtenPath = subresource === undefined ? path : `${path}/${subresource}`
      const answer = withoutManagers(await call('PUT', `${writtenPath}?dryRun=All`, given))
      const sample = { what: `${created.kind} ${subresource ?? ''}: ${what}`, old: withoutManagers(old), given, answer }
      samples.push(subresource === undefined ? sample : { ...sample, subresource })
    }
    check(samples, 'updates')
  })
})

function withoutManagers(object: KubeObject): KubeObject {
  const copy = structuredClone(object)
  if (copy.metadata !== undefined) delete copy.metadata.managedFields
  return copy
}

function collectionPath(object: KubeObject): string {
  const { group, version } = splitApiVersion(object.apiVersion ?? '')
  const resource = findResourceOfKind(object.apiVersion ?? '', object.kind ?? '')
  if (resource === undefined) throw new Error(`not in the catalogue: ${object.apiVersion} ${object.kind}`)
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${resource.namespaced ? '/namespaces/default' : ''}/${resource.resource}`
}

function makeCertificateRequest(directory: string): string {
  const [key, csr] = [join(directory, 'kinds.key'), join(directory, 'kinds.csr')]
  const command = `req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${key} -subj /CN=x -out ${csr}`
  execFileSync('openssl', command.split(' '), { stdio: 'ignore' })
  return readFileSync(csr).toString('base64')
}

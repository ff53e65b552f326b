/** What the real API server answered when objects were created and changed, and what our strategies answer instead. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { strategyOf } from '../../../src/apiserver/kinds/registry.ts'
import type { WriteContext } from '../../../src/apiserver/kinds/strategy.ts'
import { parseJson, printJson } from '../../../src/kube/codec/json.ts'
import { decodeProtobuf, encodeProtobuf } from '../../../src/kube/codec/object-codec.ts'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { findResourceOfKind, splitApiVersion } from '../../../src/kube/schema/catalogue.ts'
import type { FieldError } from '../../../src/kube/status/field-error.ts'
import { invalid } from '../../../src/kube/status/resource-errors.ts'

export interface KindSample {
  readonly what: string
  /** Absent for a create. */
  readonly old?: KubeObject
  readonly subresource?: string
  readonly given: KubeObject
  /** An object, or a Status that refuses it. */
  readonly answer: KubeObject
}

export type SampleTable = 'defaults' | 'errors' | 'updates'

type Open = Record<string, unknown>

const uid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
/** Long texts are cut in the files and made long again when they are read. */
const longText = /x{2000,}/g
const cutText = /<x times (\d+)>/g

function fileOf(table: SampleTable): string {
  return join(import.meta.dirname, '..', '..', 'data', `kinds-${table}.json`)
}

export function readSamples(table: SampleTable): KindSample[] {
  const text = readFileSync(fileOf(table), 'utf8').replace(cutText, (_all, count: string) => 'x'.repeat(Number(count)))
  return parseJson(text) as KindSample[]
}

export function writeSamples(table: SampleTable, samples: readonly KindSample[]): void {
  const text = `[\n${samples.map((sample) => printJson(sample)).join(',\n')}\n]\n`
  writeFileSync(
    fileOf(table),
    text.replace(longText, (found) => `<x times ${found.length}>`),
  )
}

/** The answer in the parts that do not depend on the moment or on an allocator. */
export function comparable(answer: KubeObject): unknown {
  const copy = structuredClone(answer) as Open
  if (answer.kind === 'Status') {
    const { code, reason, message, details } = copy
    return { code, reason, message: withoutDifference(message), causes: causesOf(details as Open) }
  }
  const metadata = copy['metadata'] as Open
  for (const name of ['uid', 'creationTimestamp', 'resourceVersion', 'managedFields']) delete metadata[name]
  if (answer.kind === 'Service') dropAllocated(copy['spec'] as Open)
  if (answer.kind === 'StatefulSet') dropInnerTypes(copy['spec'] as Open)
  return copy
}

/** The API server prints internal types in its diffs; only the sentence before them is the same. A uid is by chance. */
function withoutDifference(text: unknown): string {
  return (String(text).split('\n@@')[0] ?? '').replaceAll(uid, 'uid')
}

function causesOf(details: Open | undefined): unknown {
  return (details?.['causes'] as Open[] | undefined)?.map((cause) => ({
    ...cause,
    message: withoutDifference(cause['message']),
  }))
}

function dropAllocated(spec: Open): void {
  const isHeadless = spec['clusterIP'] === 'None'
  for (const name of ['ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort']) delete spec[name]
  if (!isHeadless) for (const name of ['clusterIP', 'clusterIPs']) delete spec[name]
  for (const port of (spec['ports'] ?? []) as Open[]) delete port['nodePort']
}

/** The type inside of a claim template is written by the codec, which knows none there. */
function dropInnerTypes(spec: Open): void {
  for (const claim of (spec['volumeClaimTemplates'] ?? []) as Open[]) {
    delete claim['apiVersion']
    delete claim['kind']
  }
}

/** What our strategies make of a sample, in the form of an answer. */
export function ourAnswer(sample: KindSample): KubeObject {
  return sample.old === undefined ? create(sample) : update(sample, sample.old)
}

function create({ given, answer }: KindSample): KubeObject {
  const object = normalize(given)
  const strategy = strategyOf(object.apiVersion ?? '', object.kind ?? '')
  const namespaced = findResourceOfKind(object.apiVersion ?? '', object.kind ?? '')?.namespaced ?? false
  object.metadata = {
    ...object.metadata,
    ...(namespaced ? { namespace: 'default' } : {}),
    uid: answer.metadata?.uid ?? 'uid',
    creationTimestamp: answer.metadata?.creationTimestamp ?? '2026-01-01T00:00:00Z',
  }
  strategy.applyDefaults?.(object)
  strategy.prepareForCreate?.(object, contextOf('', answer))
  if (strategy.generation?.initial === 1) object.metadata.generation = 1
  const ready = normalize(object)
  return judge(ready, strategy.validate?.(ready) ?? [])
}

function update({ given, answer, subresource = '' }: KindSample, oldAnswer: KubeObject): KubeObject {
  const [object, old] = [normalize(given), normalize(oldAnswer)]
  const strategy = strategyOf(object.apiVersion ?? '', object.kind ?? '')
  const context = contextOf(subresource, answer)
  const isStatus = subresource === 'status'
  strategy.applyDefaults?.(object)
  if (isStatus) strategy.prepareForStatusUpdate?.(object, old, context)
  else strategy.prepareForUpdate?.(object, old, context)
  const ready = normalize(object)
  const errors = isStatus ? strategy.validateStatusUpdate?.(ready, old) : strategy.validateUpdate?.(ready, old, context)
  if (!isStatus && strategy.generation?.hasChanged(ready, old) === true) {
    ready.metadata = { ...ready.metadata, generation: (old.metadata?.generation ?? 0) + 1 }
  }
  return judge(ready, errors ?? [])
}

function judge(object: KubeObject, errors: readonly FieldError[]): KubeObject {
  if (errors.length === 0) return object
  // Events of both groups are one kind inside the API server, and it reports them as that.
  const group = object.kind === 'Event' ? '' : splitApiVersion(object.apiVersion ?? '').group
  const error = invalid({ group, kind: object.kind ?? '' }, object.metadata?.name ?? '', errors)
  return error.status as unknown as KubeObject
}

/** The administrator of the real control plane, at the moment of the answer. */
function contextOf(subresource: string, answer: KubeObject): WriteContext {
  const status = answer['status'] as Open | undefined
  const conditions = (status?.['conditions'] ?? []) as Open[]
  const stamp =
    status?.['lastPhaseTransitionTime'] ??
    conditions[0]?.['lastUpdateTime'] ??
    conditions[0]?.['lastTransitionTime'] ??
    '2026-01-01T00:00:00Z'
  const user = { name: 'admin', uid: 'admin-uid', groups: ['system:masters', 'system:authenticated'], extra: {} }
  return { nowMs: Date.parse(stamp as string), user, subresource }
}

/** As the API server prints it: fields in order, zeros in place. */
export function normalize(object: KubeObject): KubeObject {
  return structuredClone(decodeProtobuf(encodeProtobuf(object).bytes).object)
}

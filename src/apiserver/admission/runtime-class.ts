/** A pod that names a runtime class gets what the class says about its cost and its nodes. */

import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, type Fields, has, struct, structs, text, textMap } from '../kinds/fields.ts'
import { amountsOf, sameAmounts } from './amounts.ts'
import { type ObjectLookup, PODS, RUNTIME_CLASSES } from './lookup.ts'
import { mergeTolerations } from './merge-tolerations.ts'
import { concernsObject, earlyRefusal, refusal } from './refusal.ts'

const mismatch = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
const unfounded = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'

export class RuntimeClass implements AdmissionPlugin {
  readonly name = 'RuntimeClass'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  admit(request: AdmissionRequest): void {
    const { object: pod } = request
    if (request.operation !== 'CREATE' || pod === undefined || !concernsObject(request, PODS)) return
    const spec = ensureStruct(pod, 'spec')
    const runtime = this.#classOf(request, spec)
    if (runtime === undefined) return
    setOverhead(request, spec, struct(runtime, 'overhead'))
    setScheduling(request, spec, struct(runtime, 'scheduling'))
  }

  /** Whoever came in between may not have changed the cost. */
  validate(request: AdmissionRequest): void {
    const { object: pod } = request
    if (request.operation !== 'CREATE' || pod === undefined || !concernsObject(request, PODS)) return
    const spec = ensureStruct(pod, 'spec')
    const overhead = struct(this.#classOf(request, spec), 'overhead')
    if (overhead === undefined) {
      if (has(spec, 'overhead')) throw refusal(request, unfounded)
    } else if (!sameAmounts(amountsOf(overhead, 'podFixed'), amountsOf(spec, 'overhead')))
      throw refusal(request, mismatch)
  }

  #classOf(request: AdmissionRequest, spec: Fields): Fields | undefined {
    if (!has(spec, 'runtimeClassName')) return undefined
    const name = text(spec, 'runtimeClassName')
    const found = this.#lookup.find(RUNTIME_CLASSES, '', name)
    if (found === undefined) throw earlyRefusal(request, `pod rejected: RuntimeClass "${name}" not found`)
    return found
  }
}

function setOverhead(request: AdmissionRequest, spec: Fields, overhead: Fields | undefined): void {
  if (overhead === undefined) return
  const isSet = Object.keys(amountsOf(spec, 'overhead')).length > 0
  if (isSet && !sameAmounts(amountsOf(overhead, 'podFixed'), amountsOf(spec, 'overhead')))
    throw earlyRefusal(request, mismatch)
  spec['overhead'] = amountsOf(overhead, 'podFixed')
}

function setScheduling(request: AdmissionRequest, spec: Fields, scheduling: Fields | undefined): void {
  if (scheduling === undefined) return
  const wanted = textMap(spec, 'nodeSelector')
  for (const [key, value] of Object.entries(textMap(scheduling, 'nodeSelector'))) {
    const own = wanted[key]
    if (own !== undefined && own !== value) {
      const [theirs, ours] = [`scheduling.nodeSelector[${key}] = ${value}`, `spec.nodeSelector[${key}] = ${own}`]
      throw earlyRefusal(request, `conflict: runtimeClass.${theirs}; pod.${ours}`)
    }
    wanted[key] = value
  }
  if (Object.keys(wanted).length > 0) spec['nodeSelector'] = { ...wanted }
  const tolerations = mergeTolerations(structs(spec, 'tolerations'), structs(scheduling, 'tolerations'))
  if (tolerations.length > 0) spec['tolerations'] = tolerations
}

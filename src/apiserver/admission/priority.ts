/** The priority of a pod is that of its class. There are two classes of the system, and at most one default. */
import type { KubeObject } from '../../kube/objects.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, type Fields, flag, has, integer, struct, text } from '../kinds/fields.ts'
import { type ObjectLookup, PODS, PRIORITY_CLASSES, type Reading } from './lookup.ts'
import { concernsObject, earlyRefusal, refusal } from './refusal.ts'

const preempting = 'PreemptLowerPriority'
/** Every cluster has these two from the start, and pods of the cluster itself rely on them. */
const systemClasses = new Set(['system-node-critical', 'system-cluster-critical'])

interface Established {
  readonly className: string
  readonly priority: number
  readonly preemptionPolicy: string
}

export class Priority implements AdmissionPlugin {
  readonly name = 'Priority'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  admit(request: AdmissionRequest): void {
    const { object, old, operation } = request
    if (object === undefined || !concernsObject(request, PODS)) return
    const spec = ensureStruct(object, 'spec')
    if (operation === 'CREATE') this.#setPriority(spec, request)
    if (operation === 'UPDATE') keepPriority(spec, struct(old, 'spec') ?? {})
  }

  validate(request: AdmissionRequest): void {
    if (!concernsObject(request, PRIORITY_CLASSES)) return
    const { object, operation, name } = request
    if (operation === 'DELETE' && systemClasses.has(name)) {
      throw refusal(request, 'this is a system priority class and cannot be deleted')
    }
    if (object === undefined || !flag(object, 'globalDefault')) return
    const present = this.#defaultClass()?.className
    if (present !== undefined && (operation === 'CREATE' || present !== name)) {
      throw refusal(request, `PriorityClass ${present} is already marked as default. Only one default can exist`)
    }
  }

  #setPriority(spec: Fields, request: AdmissionRequest): void {
    const { className, priority, preemptionPolicy } = this.#establish(text(spec, 'priorityClassName'), request)
    const [given, givenPolicy] = [integer(spec, 'priority'), text(spec, 'preemptionPolicy')]
    const computed = 'priority admission controller computed'
    if (given !== undefined && given !== priority) {
      const what = `the integer value of priority (${given}) must not be provided in pod spec`
      throw earlyRefusal(request, `${what}; ${computed} ${priority} from the given PriorityClass name`)
    }
    if (preemptionPolicy !== '' && givenPolicy !== '' && givenPolicy !== preemptionPolicy) {
      const what = `the string value of PreemptionPolicy (${givenPolicy}) must not be provided in pod spec`
      throw earlyRefusal(request, `${what}; ${computed} ${preemptionPolicy} from the given PriorityClass name`)
    }
    if (className !== '') spec['priorityClassName'] = className
    spec['priority'] = priority
    if (preemptionPolicy !== '') spec['preemptionPolicy'] = preemptionPolicy
  }

  #establish(className: string, request: AdmissionRequest): Established {
    const named = className === '' ? undefined : this.#lookup.find(PRIORITY_CLASSES, '', className)
    const found = className === '' ? this.#defaultClass() : named && establishedBy(named)
    if (found !== undefined) return found
    if (className !== '') throw earlyRefusal(request, `no PriorityClass with name ${className} was found`)
    return { className: '', priority: 0, preemptionPolicy: preempting }
  }

  /** Two defaults can come to be at the same moment; the lower one wins. */
  #defaultClass(): Established | undefined {
    return [...this.#lookup.reads(PRIORITY_CLASSES, '', classReading)]
      .filter(({ isDefault }) => isDefault)
      .map(({ established }) => established)
      .sort((one, other) => one.priority - other.priority)[0]
  }
}

/** Every pod asks for the default among all of them. */
const classReading: Reading<{ readonly isDefault: boolean; readonly established: Established }> = {
  read: (priorityClass) => ({
    isDefault: flag(priorityClass, 'globalDefault'),
    established: establishedBy(priorityClass),
  }),
  isKept: () => true,
}

function establishedBy(priorityClass: KubeObject): Established {
  return {
    className: priorityClass.metadata?.name ?? '',
    priority: integer(priorityClass, 'value') ?? 0,
    preemptionPolicy: text(priorityClass, 'preemptionPolicy'),
  }
}

/** Clients that do not know these fields leave them out when they write a pod back. */
function keepPriority(spec: Fields, old: Fields): void {
  for (const field of ['priority', 'preemptionPolicy']) {
    if (!has(spec, field) && has(old, field)) spec[field] = old[field]
  }
}

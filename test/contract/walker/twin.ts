/** The walker's slow twin: the same edits on plain values. */
import { ANY_ITEM, type FieldEdit, type FieldPath, type ListStep } from '../../../src/kube/walker/walker.ts'

type Plain = Record<string, unknown>

/** Changes the value in place. */
export function editPlainly(value: unknown, edit: FieldEdit): void {
  editAt(value, edit.path, edit)
}

export function readPlainly(value: unknown, path: FieldPath): unknown {
  const found: unknown[] = []
  const replace = (place: unknown) => {
    found.push(place)
    return place
  }
  editAt(value, path, { path, replace })
  return found.find((place) => place !== undefined)
}

function editAt(value: unknown, path: FieldPath, edit: FieldEdit): void {
  const [step, ...rest] = path
  if (step === undefined || typeof value !== 'object' || value === null) return
  if (typeof step === 'string') {
    if (!Array.isArray(value)) editMember(value as Plain, step, rest, edit)
  } else if (Array.isArray(value)) editItems(value as unknown[], step, rest, edit)
}

function editMember(object: Plain, key: string, rest: FieldPath, edit: FieldEdit): void {
  const before = Object.hasOwn(object, key) ? object[key] : undefined
  if (rest.length > 0) {
    editAt(before, rest, edit)
    return
  }
  const after = structuredClone(edit.replace(before))
  if (after === undefined) delete object[key]
  else Object.defineProperty(object, key, { value: after, enumerable: true, configurable: true, writable: true })
}

function editItems(list: unknown[], step: ListStep, rest: FieldPath, edit: FieldEdit): void {
  const selected = list.map((item, index) => {
    if (typeof step !== 'object') return step === ANY_ITEM || step === index
    return typeof item === 'object' && item !== null && (item as Plain)[step.key] === step.equals
  })
  if (rest.length > 0) {
    for (const [index, item] of list.entries()) if (selected[index]) editAt(item, rest, edit)
    return
  }
  const replaced = list.map((item, index) => (selected[index] ? structuredClone(edit.replace(item)) : item))
  list.splice(0, list.length, ...replaced.filter((item) => item !== undefined))
}

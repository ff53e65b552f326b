/**
 * JSON patch, RFC 6902, as the API server applies it. It differs from the RFC where the API server does: `replace`
 * creates a member that does not exist, `copy` of such a member and `add` without a value write null, and a negative
 * index counts from the end. It keeps to the RFC, and not to the API server, in two points: a path that does not begin
 * with a slash leads nowhere (there: past its first segment), and `test` compares values (there: their JSON text, so
 * that a text with `<` or a number written `1.0` never matches).
 */
import { printJson } from '../codec/json.ts'
import {
  insertAt,
  JsonPatchDocument,
  JsonPatchFailure,
  type Place,
  readAt,
  removeAt,
  writeAt,
} from './json-patch-document.ts'
import { fromOf, operandOf, operationKind, pathOf, readOperations } from './json-patch-operations.ts'
import { cloneJson, isDeeperThan, isJsonObject, type JsonObject, jsonEqual } from './json-value.ts'
import { MAX_PATCH_DEPTH } from './limits.ts'
import { patchDoesNotApply, patchedObjectUnreadable } from './patch-errors.ts'

/** What all `copy` operations of a patch may add to the document, as JSON: a few of them could fill the memory. */
export const MAX_JSON_PATCH_COPY_BYTES = 3 * 1024 * 1024

const missing = 'missing value'
const testFailed = 'test failed'
const notAnObject =
  "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type " +
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** Applies all operations or throws an `ApiError`; neither `object` nor `patch` is changed. */
export function applyJsonPatch(object: JsonObject, patch: unknown): JsonObject {
  const operations = readOperations(patch)
  try {
    return new JsonPatchRun(object).apply(operations)
  } catch (error) {
    throw error instanceof JsonPatchFailure ? patchDoesNotApply(error.message) : error
  }
}

class JsonPatchRun {
  readonly #document: JsonPatchDocument
  #copiedBytes = 0

  constructor(object: JsonObject) {
    this.#document = new JsonPatchDocument(object)
  }

  apply(operations: readonly JsonObject[]): JsonObject {
    for (const operation of operations) this.#applyOne(operation)
    const { root } = this.#document
    checkDepth(root)
    if (!isJsonObject(root)) throw patchedObjectUnreadable(printJson(root), notAnObject)
    return root
  }

  #applyOne(operation: JsonObject): void {
    const kind = operationKind(operation)
    switch (kind) {
      case 'add':
        this.#add(operation)
        return
      case 'remove':
        this.#remove(operation)
        return
      case 'replace':
        this.#replace(operation)
        return
      case 'move':
        this.#move(operation)
        return
      case 'copy':
        this.#copy(operation)
        return
      case 'test':
        this.#test(operation)
        return
      default:
        throw new JsonPatchFailure(`Unexpected kind: ${kind}`)
    }
  }

  #add(operation: JsonObject): void {
    const path = pathOf(operation, 'add')
    const place = this.#document.findForWriting(path)
    if (place === undefined) throw doesNotApply('add', `doc is missing path: "${path}"`)
    explained(`error in add for path: '${path}'`, () => insertAt(place, operandOf(operation)))
  }

  #remove(operation: JsonObject): void {
    const path = pathOf(operation, 'remove')
    const place = this.#document.findForWriting(path)
    if (place === undefined) throw doesNotApply('remove', `doc is missing path: "${path}"`)
    explained(`error in remove for path: '${path}'`, () => removeAt(place))
  }

  #replace(operation: JsonObject): void {
    const path = pathOf(operation, 'replace')
    if (path === '') {
      this.#replaceDocument(operandOf(operation))
      return
    }
    const place = this.#document.findForWriting(path)
    if (place === undefined) throw doesNotApply('replace', `doc is missing path: ${path}`)
    try {
      writeAt(place, operandOf(operation))
    } catch (error) {
      throw error instanceof JsonPatchFailure ? doesNotApply('replace', `doc is missing key: ${path}`) : error
    }
  }

  #replaceDocument(value: unknown): void {
    if (!isJsonObject(value) && !Array.isArray(value)) {
      throw new JsonPatchFailure('replace operation value must be object or array')
    }
    this.#document.replaceRoot(value)
  }

  #move(operation: JsonObject): void {
    const from = fromOf(operation, 'move')
    const source = this.#document.findForWriting(from)
    if (source === undefined) throw doesNotApply('move', `doc is missing from path: ${from}`)
    const value = explained(`error in move for path: '${source.key}'`, () => {
      const moved = readAt(source)
      removeAt(source)
      return moved
    })
    const path = pathOf(operation, 'move')
    const place = this.#destination('move', path)
    explained(`error in move for path: '${path}'`, () => insertAt(place, value))
  }

  #copy(operation: JsonObject): void {
    const from = fromOf(operation, 'copy')
    const source = this.#document.find(from)
    if (source === undefined) throw doesNotApply('copy', `doc is missing from path: ${from}`)
    const value = explained(`error in copy for from: '${from}'`, () => readAt(source)) ?? null
    const place = this.#destination('copy', pathOf(operation, 'copy'))
    this.#accountForCopy(value)
    explained('error while adding value during copy', () => insertAt(place, cloneJson(value)))
  }

  #test(operation: JsonObject): void {
    const path = pathOf(operation, 'test')
    const actual = path === '' ? this.#document.root : this.#valueToTest(path)
    if (!jsonEqual(actual ?? null, operandOf(operation))) {
      throw new JsonPatchFailure(`testing value ${path} failed: ${testFailed}`)
    }
  }

  #valueToTest(path: string): unknown {
    const place = this.#document.find(path)
    if (place === undefined) throw doesNotApply('test', `is missing path: ${path}`)
    return explained(`error in test for path: '${path}'`, () => readAt(place))
  }

  #destination(kind: string, path: string): Place {
    const place = this.#document.findForWriting(path)
    if (place === undefined) throw doesNotApply(kind, `doc is missing destination path: ${path}`)
    return place
  }

  #accountForCopy(value: unknown): void {
    checkDepth(value)
    this.#copiedBytes += Buffer.byteLength(printJson(value))
    if (this.#copiedBytes <= MAX_JSON_PATCH_COPY_BYTES) return
    const size = `the accumulated size increase of copy is ${this.#copiedBytes}`
    throw new JsonPatchFailure(`Unable to complete the copy, ${size}, exceeding the limit ${MAX_JSON_PATCH_COPY_BYTES}`)
  }
}

/** Operations can nest a document deeper than the patch itself is; what is too deep to print must not be stored. */
function checkDepth(value: unknown): void {
  if (!isDeeperThan(value, MAX_PATCH_DEPTH)) return
  throw new JsonPatchFailure(`the patched document is nested deeper than ${MAX_PATCH_DEPTH}`)
}

function doesNotApply(kind: string, why: string): JsonPatchFailure {
  return new JsonPatchFailure(`${kind} operation does not apply: ${why}: ${missing}`)
}

function explained<T>(where: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw error instanceof JsonPatchFailure ? new JsonPatchFailure(`${where}: ${error.message}`) : error
  }
}

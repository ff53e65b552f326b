/** Patches: from the present object to the wanted one. */

import { parseJson, printJson } from '../../kube/codec/json.ts'
import { decodeMessage, encodeMessage } from '../../kube/codec/object-codec.ts'
import { negotiatePatch, type PatchType } from '../../kube/negotiation-body.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { goPrint } from '../../kube/patch/go-value.ts'
import { unknownOperationFields } from '../../kube/patch/json-patch-operations.ts'
import { applyPatch, type PatchKind } from '../../kube/patch/patch.ts'
import { patchedObjectUnreadable } from '../../kube/patch/patch-errors.ts'
import { unsupportedMediaType } from '../../kube/status/request-errors.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { isEmbeddedKind } from '../kinds/embedded-kinds.ts'
import type { RequestContext } from '../request/handler.ts'
import { type Decoded, type ExpectedKind, MAX_BODY_BYTES, readBodyBytes } from './decode-body.ts'
import { scanJson } from './scan-json.ts'
import { type FieldValidation, readWriteOptions } from './write-options.ts'

const kinds: Readonly<Record<Exclude<PatchType, 'apply'>, PatchKind>> = {
  'json-patch': 'json',
  'merge-patch': 'merge',
  'strategic-merge-patch': 'strategic',
}

/** A patch as it came, and what its sender said about it. */
export interface PatchBody {
  readonly bytes: Uint8Array
  readonly type: PatchKind
  readonly validation: FieldValidation
}

export async function readPatch(context: RequestContext, maxBytes = MAX_BODY_BYTES): Promise<PatchBody> {
  const media = negotiatePatch(context.exchange.headers.get('content-type'), 'built-in')
  // Server-side apply is not built yet; taking such a patch for another kind would do harm.
  if (media === 'apply') {
    throw unsupportedMediaType([
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
    ])
  }
  const validation = readWriteOptions(context)
  return { bytes: await readBodyBytes(context, maxBytes), type: kinds[media], validation }
}

/** The wanted object. Throws an ApiError where the patch does not fit the present one. */
export function patchObject({ bytes, type, validation }: PatchBody, old: KubeObject, expected: ExpectedKind): Decoded {
  const patch = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { duplicates } = scanJson(patch.toString('utf8'))
  const patched = applyPatch({ type, patch, object: old, message: expected.message })
  const shown = (): string => shownOf(type, patch, patched)
  if (type !== 'strategic') checkType(patched, expected, shown)
  // After it was applied: a patch that cannot be read has worse problems.
  const problems = validation === 'Ignore' ? [] : problemsOf(type, patch, duplicates)
  return conform(patched, expected, { shown, problems, validation })
}

interface Reading {
  /** What a refusal quotes. */
  readonly shown: () => string
  /** What is wrong with the text of the patch itself. */
  readonly problems: readonly string[]
  readonly validation: FieldValidation
}

/** The object as its type has it: fields in order, zeros in place, nothing unknown. */
function conform(patched: KubeObject, { apiVersion, kind, message }: ExpectedKind, reading: Reading): Decoded {
  const { shown, validation } = reading
  try {
    const { bytes, dropped } = encodeMessage(message, patched)
    const problems = [
      ...reading.problems,
      ...dropped.names
        .filter((name) => !isEmbeddedKind(kind, name))
        .map((name) => `unknown field ${JSON.stringify(name)}`),
    ]
    if (validation === 'Strict' && problems.length > 0) {
      throw patchedObjectUnreadable(shown(), `strict decoding error: ${problems.join(', ')}`)
    }
    const object = { kind, apiVersion, ...decodeMessage(message, bytes).value }
    return { object, warnings: validation === 'Warn' ? problems : [] }
  } catch (error) {
    if (error instanceof WireError) throw patchedObjectUnreadable(shown(), error.message)
    throw error
  }
}

function problemsOf(type: PatchKind, patch: Buffer, paths: readonly string[]): string[] {
  const duplicates = paths.map((path) => `duplicate field ${JSON.stringify(path)}`)
  if (type !== 'json') return duplicates
  const unknown = unknownOperationFields(parseJson(patch.toString('utf8')))
  return [...duplicates.map((problem) => `json patch ${problem}`), ...unknown]
}

/** A patch must not make something else of an object; a strategic one is merged without a look at its type. */
function checkType(patched: KubeObject, { apiVersion, kind, alsoAccepts }: ExpectedKind, shown: () => string): void {
  const { apiVersion: version = apiVersion, kind: given = kind } = patched
  if (given === kind && (version === apiVersion || alsoAccepts?.includes(version) === true)) return
  const why = `no kind ${JSON.stringify(given)} is registered for version ${JSON.stringify(version)} in scheme "pkg/runtime/scheme.go:111"`
  throw patchedObjectUnreadable(shown(), why)
}

/** Whoever may patch a Secret need not be one who may read it. */
function shownOf(type: PatchKind, patch: Buffer, patched: KubeObject): string {
  if (patched.kind === 'Secret') return '(not shown)'
  return type === 'strategic' ? goPrint(parseJson(patch.toString('utf8'))) : printJson(patched)
}

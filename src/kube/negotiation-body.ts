/** What a request body is encoded in, or a 415 in the API server's words. */
import { MediaTypeError, parseMediaType } from './media-type.ts'
import { trimSpaces } from './media-type-accept.ts'
import { type Encoding, MEDIA_TYPES } from './representation.ts'
import { genericServerResponse } from './status/generic-response.ts'
import { unsupportedMediaType } from './status/request-errors.ts'

export type PatchType = 'json-patch' | 'merge-patch' | 'strategic-merge-patch' | 'apply'

const PATCH_MEDIA_TYPES: Readonly<Record<PatchType, string>> = {
  'json-patch': 'application/json-patch+json',
  'merge-patch': 'application/merge-patch+json',
  'strategic-merge-patch': 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

const bodyEncodings: readonly Encoding[] = ['json', 'yaml', 'protobuf']

/** For everything but PATCH. No Content-Type means JSON: several client libraries send none. */
export function negotiateBody(contentType: string | undefined): Encoding {
  if (contentType === undefined || contentType === '') return 'json'
  const mediaType = essence(contentType)
  const encoding = bodyEncodings.find((candidate) => MEDIA_TYPES[candidate] === mediaType)
  if (encoding === undefined) throw unsupportedMediaType(bodyEncodings.map((candidate) => MEDIA_TYPES[candidate]))
  return encoding
}

function essence(contentType: string): string | undefined {
  try {
    const { type, subtype } = parseMediaType(contentType)
    return `${type}/${subtype}`
  } catch (error) {
    if (error instanceof MediaTypeError) return undefined
    throw error
  }
}

/** Strategic merge needs the merge keys of a built-in type; custom resources have none. */
export function negotiatePatch(contentType: string | undefined, resource: 'built-in' | 'custom'): PatchType {
  const offered = (Object.keys(PATCH_MEDIA_TYPES) as PatchType[]).filter(
    (type) => resource === 'built-in' || type !== 'strategic-merge-patch',
  )
  // Compared letter by letter: here the API server forgives neither case nor a missing header.
  const mediaType = (contentType ?? '').split(';')[0] ?? ''
  const patchType = offered.find((type) => PATCH_MEDIA_TYPES[type] === mediaType)
  if (patchType !== undefined) return patchType
  const accepted = offered.map((type) => PATCH_MEDIA_TYPES[type])
  throw resource === 'custom' || passesRouter(contentType ?? '', accepted)
    ? unsupportedMediaType(accepted)
    : genericServerResponse({ code: 415, method: '', serverMessage: '415: Unsupported Media Type', unexpected: false })
}

/** Built-in resources stand behind a router, which reads the header as a list and has a refusal of its own. */
function passesRouter(contentType: string, accepted: readonly string[]): boolean {
  return contentType.split(',').some((part) => accepted.includes(trimSpaces(part.split(';')[0] ?? '')))
}

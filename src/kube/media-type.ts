/**
 * Media types with parameters (RFC 9110), as in Content-Type. Names are case-insensitive and come out in lower case,
 * values keep their case. The rules are those of Go's `mime` package, because the API server uses it.
 */
export const MAX_MEDIA_TYPE_LENGTH = 1024
/** Real media types have four at most. */
export const MAX_MEDIA_TYPE_PARAMETERS = 32

export interface MediaType {
  readonly type: string
  readonly subtype: string
  readonly parameters: ReadonlyMap<string, string>
}

/** The text is not a media type. */
export class MediaTypeError extends Error {
  override readonly name = 'MediaTypeError'
}

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const essenceRegExp = new RegExp(`^\\s*(${token})/(${token})\\s*$`)
const parameterRegExp = new RegExp(
  `\\s*;\\s*(${token})\\s*=\\s*(?:(${token})|"((?:[^"\\\\\\r\\n]|\\\\[^\\r\\n])*)")`,
  'y',
)
// A lone semicolon at the end is common enough to be forgiven.
const endRegExp = /^\s*;?\s*$/
const tokenRegExp = new RegExp(`^${token}$`)

export function parseMediaType(text: string): MediaType {
  if (text.length > MAX_MEDIA_TYPE_LENGTH) {
    throw new MediaTypeError(
      `media type is ${text.length} characters long, at most ${MAX_MEDIA_TYPE_LENGTH} are allowed`,
    )
  }
  const essenceEnd = text.includes(';') ? text.indexOf(';') : text.length
  const [, type, subtype] = essenceRegExp.exec(text.slice(0, essenceEnd)) ?? []
  if (type === undefined || subtype === undefined) {
    throw new MediaTypeError(`media type ${JSON.stringify(text)} is not of the form type/subtype`)
  }
  return { type: type.toLowerCase(), subtype: subtype.toLowerCase(), parameters: parseParameters(text, essenceEnd) }
}

function parseParameters(text: string, start: number): Map<string, string> {
  const parameters = new Map<string, string>()
  let position = start
  while (!endRegExp.test(text.slice(position))) {
    parameterRegExp.lastIndex = position
    const match = parameterRegExp.exec(text)
    if (match === null) throw new MediaTypeError(`media type ${JSON.stringify(text)} has a malformed parameter`)
    addParameter(parameters, match, text)
    position = parameterRegExp.lastIndex
  }
  return parameters
}

function addParameter(parameters: Map<string, string>, match: RegExpExecArray, text: string): void {
  const [, name = '', plain, quoted = ''] = match
  const key = name.toLowerCase()
  const value = plain ?? quoted.replaceAll(/\\(.)/g, '$1')
  const earlier = parameters.get(key)
  if (earlier !== undefined && earlier !== value) {
    throw new MediaTypeError(`media type ${JSON.stringify(text)} has two values for parameter ${key}`)
  }
  parameters.set(key, value)
  if (parameters.size > MAX_MEDIA_TYPE_PARAMETERS) {
    throw new MediaTypeError(`media type has more than ${MAX_MEDIA_TYPE_PARAMETERS} parameters`)
  }
}

/** Values that are not plain words are quoted. */
export function formatMediaType({ type, subtype, parameters }: MediaType): string {
  let text = `${type}/${subtype}`
  for (const [name, value] of parameters) text += `;${name}=${formatValue(value)}`
  return text
}

function formatValue(value: string): string {
  if (tokenRegExp.test(value)) return value
  if (/[\r\n]/.test(value)) throw new MediaTypeError('a media type parameter cannot contain a line break')
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}

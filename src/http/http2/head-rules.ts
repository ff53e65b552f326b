/**
 * What the fields of a head must be like (RFC 9113, section 8). A message that breaks these rules is malformed: whoever
 * stands behind us might read it in another way than we do.
 */

/** What a head says that matters for the stream. */
export interface HeadFacts {
  /** The status of a response; 0 for a request. */
  readonly status: number
  /** Bytes of the body where the head says so, else -1. */
  readonly contentLength: number
}

const requestPseudo: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path'])
const responsePseudo: ReadonlySet<string> = new Set([':status'])
/** Fields that speak of a connection of HTTP/1.1, and have no place in HTTP/2. */
const connectionFields: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

/** Names found to be in order; most are the same few. */
const knownNames = new Set<string>()
const maxKnownNames = 1_024
const maxKnownNameLength = 64
const nameShape = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** No control characters but the tab, nothing that is no byte, and no space around. */
const valueShape = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/

const methodShape = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const schemeShape = /^[A-Za-z][A-Za-z0-9+\-.]*$/
/** Without the name of a user, which has no place here. */
const authorityShape = /^[A-Za-z0-9\-._~%!$&'()*+,;=:[\]]*$/
/** No space: in HTTP/1.1 it would end there. */
const pathShape = /^(?:\/[!-~\x80-\xff]*|\*)$/

/** A string says what is wrong. */
export function readRequestHead(fields: readonly string[]): HeadFacts | string {
  const read = readFields(fields, requestPseudo)
  if (typeof read === 'string') return read
  const { pseudo, contentLength } = read
  const method = pseudo.get(':method') ?? ''
  if (!methodShape.test(method)) return 'no :method'
  if (!authorityShape.test(pseudo.get(':authority') ?? '')) return 'no :authority'
  if (method === 'CONNECT') return connectProblem(pseudo) ?? { status: 0, contentLength }
  if (!schemeShape.test(pseudo.get(':scheme') ?? '')) return 'no :scheme'
  const path = pseudo.get(':path') ?? ''
  if (!pathShape.test(path) || (path === '*' && method !== 'OPTIONS')) return 'no :path'
  return { status: 0, contentLength }
}

/** A request to be led elsewhere has no path; whoever serves it says that nobody is. */
function connectProblem(pseudo: ReadonlyMap<string, string>): string | undefined {
  if (!pseudo.has(':authority')) return 'no :authority'
  return pseudo.has(':scheme') || pseudo.has(':path') ? 'a CONNECT with a path' : undefined
}

export function readResponseHead(fields: readonly string[]): HeadFacts | string {
  const read = readFields(fields, responsePseudo)
  if (typeof read === 'string') return read
  const status = read.pseudo.get(':status') ?? ''
  // There is nothing to switch to.
  if (!/^[1-9]\d\d$/.test(status) || status === '101') return `the :status ${JSON.stringify(status)}`
  return { status: Number(status), contentLength: read.contentLength }
}

/** How long the body of a response must be; -1 where anything will do. */
export function bodyBytesOf({ status, contentLength }: HeadFacts, isForHead: boolean): number {
  // They announce what the body would have been.
  return isForHead || status === 204 || status === 304 ? 0 : contentLength
}

/** A string says what is wrong. */
export function trailersProblem(fields: readonly string[]): string | undefined {
  const read = readFields(fields, new Set())
  return typeof read === 'string' ? read : undefined
}

interface ReadFields {
  readonly pseudo: ReadonlyMap<string, string>
  readonly contentLength: number
}

function readFields(fields: readonly string[], allowedPseudo: ReadonlySet<string>): ReadFields | string {
  const pseudo = new Map<string, string>()
  let contentLength = -1
  let isInRegular = false
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? ''
    const value = fields[index + 1] ?? ''
    if (!valueShape.test(value)) return `a value of ${name} that is not allowed`
    if (name.charCodeAt(0) === colon) {
      if (isInRegular) return `${name} behind ordinary fields`
      if (!allowedPseudo.has(name)) return `${name} where it does not belong`
      if (pseudo.has(name)) return `${name} twice`
      pseudo.set(name, value)
      continue
    }
    isInRegular = true
    const problem = nameProblem(name, value)
    if (problem !== undefined) return problem
    if (name !== 'content-length') continue
    const length = /^\d{1,15}$/.test(value) ? Number(value) : -1
    if (length < 0 || (contentLength >= 0 && contentLength !== length)) return 'a content-length that is not one number'
    contentLength = length
  }
  return { pseudo, contentLength }
}

const colon = 0x3a

function nameProblem(name: string, value: string): string | undefined {
  if (name === 'te') return value === 'trailers' ? undefined : 'the field te'
  if (knownNames.has(name)) return undefined
  if (!nameShape.test(name)) return `the name ${JSON.stringify(name)}`
  if (connectionFields.has(name)) return `the field ${name}, which is one of HTTP/1.1`
  if (knownNames.size < maxKnownNames && name.length <= maxKnownNameLength) knownNames.add(name)
  return undefined
}

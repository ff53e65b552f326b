/**
 * Keeps secrets out of logs, by two independent nets: `redactFields` hides what is secret by its name or its kind before
 * it is written, and `scrubText` hides what looks like a secret in the finished line, wherever it came from.
 */

export const REDACTED = '[redacted]'

/** Deeper or wider values are cut: a log line is a sentence, not a dump. */
export const MAX_FIELD_DEPTH = 8
export const MAX_FIELDS_PER_LEVEL = 100
/** Characters of one text in a line, such as a stack or what a peer has sent; the rest is left out, and its length told. */
export const MAX_LOGGED_TEXT_CHARACTERS = 4_096
/** Characters of all texts of a line together: whoever can make us log must not fill the disk with few lines, nor keep us busy searching them. */
export const MAX_LOGGED_LINE_CHARACTERS = 16_384

/** Compared with field names in lower case without `-` and `_`; a name that ends in one of these is secret. */
const SECRET_NAME_ENDINGS = [
  'authorization',
  'cookie',
  'password',
  'passphrase',
  'secret',
  'token',
  'privatekey',
  'clientkeydata',
  'hmackey',
]

/** What may be shown of a Kubernetes Secret. A list of what is allowed, since annotations can carry a copy of the data. */
const SHOWN_OF_SECRET = new Set(['apiVersion', 'kind', 'type'])
const SHOWN_OF_SECRET_METADATA = new Set(['name', 'namespace', 'uid', 'resourceVersion'])

/** A copy of `fields` that is safe to log: plain data, bounded, without the values of secret fields. */
export function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  return redactObject(fields, { depth: 0, room: { characters: MAX_LOGGED_LINE_CHARACTERS } })
}

/** Where in a line a value stands, and what room the line has left for texts. */
interface Place {
  readonly depth: number
  readonly room: { characters: number }
}

function below({ depth, room }: Place): Place {
  return { depth: depth + 1, room }
}

function redactText(text: string, { room }: Place): string {
  const shown = Math.min(text.length, MAX_LOGGED_TEXT_CHARACTERS, room.characters)
  room.characters -= shown
  return shown === text.length ? text : `${text.slice(0, shown)}[${text.length - shown} more characters]`
}

function redactValue(value: unknown, place: Place): unknown {
  if (typeof value === 'string') return redactText(value, place)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`
  if (place.depth >= MAX_FIELD_DEPTH) return '[too deep]'
  if (value instanceof Error) return describeError(value, place)
  if (value instanceof Map) return redactObject(Object.fromEntries(value) as Record<string, unknown>, place)
  if (value instanceof Set) return redactList([...value], place)
  if (Array.isArray(value)) return redactList(value, place)
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON(), below(place))
  return redactObject(value as Record<string, unknown>, place)
}

function redactList(list: readonly unknown[], place: Place): unknown[] {
  const kept = list.slice(0, MAX_FIELDS_PER_LEVEL).map((item) => redactValue(item, below(place)))
  if (list.length > kept.length) kept.push(`[${list.length - kept.length} more]`)
  return kept
}

function redactObject(object: Record<string, unknown>, place: Place): Record<string, unknown> {
  if (object['kind'] === 'Secret') return keepOnly(object, SHOWN_OF_SECRET)
  const entries = Object.entries(object)
  const kept: Record<string, unknown> = {}
  for (const [name, value] of entries.slice(0, MAX_FIELDS_PER_LEVEL)) {
    if (isSecretName(name) && carriesText(value)) kept[name] = REDACTED
    else if (object['kind'] === 'SecretList' && name === 'items') kept[name] = redactSecretItems(value, place)
    else kept[name] = redactValue(value, below(place))
  }
  if (entries.length > MAX_FIELDS_PER_LEVEL) kept['more'] = `[${entries.length - MAX_FIELDS_PER_LEVEL} more]`
  return kept
}

/** The items of a list carry no kind of their own. */
function redactSecretItems(items: unknown, place: Place): unknown {
  if (!Array.isArray(items)) return REDACTED
  return redactList(
    items.map((item: unknown) => ({ ...(item as object), kind: 'Secret' })),
    place,
  )
}

function keepOnly(object: Record<string, unknown>, shown: ReadonlySet<string>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(object)) {
    if (shown.has(name)) kept[name] = typeof value === 'string' ? value : REDACTED
    else if (name === 'metadata' && typeof value === 'object' && value !== null) {
      kept[name] = keepOnly(value as Record<string, unknown>, SHOWN_OF_SECRET_METADATA)
    } else kept[name] = REDACTED
  }
  return kept
}

function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, '')
  return SECRET_NAME_ENDINGS.some((ending) => plain.endsWith(ending))
}

/** `hasToken: true` and `tokens: 3` tell nothing; text, bytes and structures may. */
function carriesText(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || (typeof value === 'object' && value !== null)
}

function describeError(error: Error, place: Place): Record<string, unknown> {
  const own = redactObject(Object.fromEntries(Object.entries(error)), place)
  const message = redactText(error.message, place)
  const stack = error.stack === undefined ? undefined : redactText(error.stack, place)
  const described: Record<string, unknown> = { ...own, type: error.name, message, stack }
  if (error.cause !== undefined) described['cause'] = redactValue(error.cause, below(place))
  return described
}

/**
 * The shapes of secrets in running text. The text may be a line of JSON, where a line break is the two characters `\n`:
 * no pattern may run over a quote, or the line would no longer be JSON. Peers choose much of the text: no pattern may look at
 * the same characters again and again, so what could begin a secret at many places is taken whole, and then judged.
 */
const SECRET_SHAPES: readonly [RegExp, string | ((found: string) => string)][] = [
  // Also one that was cut off before its end line.
  [
    /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:(?!-----(?:BEGIN|END) )[^"])*(?:-----END [A-Z0-9 ]*PRIVATE KEY-----)?/g,
    '[redacted private key]',
  ],
  // PEM inside base64, as kubeconfig files and Secrets carry it.
  [/\bLS0tLS1CRUdJTi[A-Za-z0-9+/=_-]*/g, '[redacted PEM]'],
  // A JSON Web Token; the payload of one that is cut short is as telling as the whole.
  [
    /\beyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?)?/g,
    (run) => (run.includes('.') ? '[redacted token]' : run),
  ],
  [/\b(authorization)(\\?["']?\s*[:=]\s*\\?["']?)(?:[A-Za-z]+ +)?[^\s"'\\,;]+/gi, `$1$2${REDACTED}`],
  [/\b(bearer) +[A-Za-z0-9._~+/=-]{16,}/gi, `$1 ${REDACTED}`],
  // Credentials inside a URL.
  [/(:\/\/[^\s/:@"]*:)[^\s/@"]+@/g, `$1${REDACTED}@`],
]

/** `text` with everything that looks like a token, a password in a URL or a private key replaced. */
export function scrubText(text: string): string {
  let scrubbed = text
  for (const [shape, replacement] of SECRET_SHAPES) scrubbed = scrubbed.replace(shape, replacement as string)
  return scrubbed
}

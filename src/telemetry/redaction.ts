/**
 * Keeps secrets out of logs, by two independent nets: `redactFields` hides what is secret by its name or its kind before
 * it is written, and `scrubText` hides what looks like a secret in the finished line, wherever it came from.
 */

export const REDACTED = '[redacted]'

/** Deeper or wider values are cut: a log line is a sentence, not a dump. */
export const MAX_FIELD_DEPTH = 8
export const MAX_FIELDS_PER_LEVEL = 100

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
  return redactObject(fields, 0)
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`
  if (depth >= MAX_FIELD_DEPTH) return '[too deep]'
  if (value instanceof Error) return describeError(value, depth)
  if (value instanceof Map) return redactObject(Object.fromEntries(value) as Record<string, unknown>, depth)
  if (value instanceof Set) return redactList([...value], depth)
  if (Array.isArray(value)) return redactList(value, depth)
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON(), depth + 1)
  return redactObject(value as Record<string, unknown>, depth)
}

function redactList(list: readonly unknown[], depth: number): unknown[] {
  const kept = list.slice(0, MAX_FIELDS_PER_LEVEL).map((item) => redactValue(item, depth + 1))
  if (list.length > kept.length) kept.push(`[${list.length - kept.length} more]`)
  return kept
}

function redactObject(object: Record<string, unknown>, depth: number): Record<string, unknown> {
  if (object['kind'] === 'Secret') return keepOnly(object, SHOWN_OF_SECRET)
  const entries = Object.entries(object)
  const kept: Record<string, unknown> = {}
  for (const [name, value] of entries.slice(0, MAX_FIELDS_PER_LEVEL)) {
    if (isSecretName(name) && carriesText(value)) kept[name] = REDACTED
    else if (object['kind'] === 'SecretList' && name === 'items') kept[name] = redactSecretItems(value)
    else kept[name] = redactValue(value, depth + 1)
  }
  if (entries.length > MAX_FIELDS_PER_LEVEL) kept['more'] = `[${entries.length - MAX_FIELDS_PER_LEVEL} more]`
  return kept
}

/** The items of a list carry no kind of their own. */
function redactSecretItems(items: unknown): unknown {
  if (!Array.isArray(items)) return REDACTED
  return redactList(
    items.map((item: unknown) => ({ ...(item as object), kind: 'Secret' })),
    0,
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

function describeError(error: Error, depth: number): Record<string, unknown> {
  const own = redactObject(Object.fromEntries(Object.entries(error)), depth)
  const described: Record<string, unknown> = { ...own, type: error.name, message: error.message, stack: error.stack }
  if (error.cause !== undefined) described['cause'] = redactValue(error.cause, depth + 1)
  return described
}

/**
 * The shapes of secrets in running text. The text may be a line of JSON, where a line break is the two characters `\n`:
 * no pattern may run over a quote, or the line would no longer be JSON.
 */
const SECRET_SHAPES: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[^"]*?-----END [A-Z0-9 ]*PRIVATE KEY-----/g, '[redacted private key]'],
  // A key that was cut off before its end line.
  [/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\[nr])*/g, '[redacted private key]'],
  // PEM inside base64, as kubeconfig files and Secrets carry it.
  [/\bLS0tLS1CRUdJTi[A-Za-z0-9+/=_-]*/g, '[redacted PEM]'],
  // A JSON Web Token; the payload of one that is cut short is as telling as the whole.
  [/\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, '[redacted token]'],
  [/\b(authorization)(\\?["']?\s*[:=]\s*\\?["']?)(?:[A-Za-z]+ +)?[^\s"'\\,;]+/gi, `$1$2${REDACTED}`],
  [/\b(bearer) +[A-Za-z0-9._~+/=-]{16,}/gi, `$1 ${REDACTED}`],
  // Credentials inside a URL.
  [/(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@"]*:)[^\s/@"]+@/gi, `$1${REDACTED}@`],
]

/** `text` with everything that looks like a token, a password in a URL or a private key replaced. */
export function scrubText(text: string): string {
  let scrubbed = text
  for (const [shape, replacement] of SECRET_SHAPES) scrubbed = scrubbed.replace(shape, replacement)
  return scrubbed
}

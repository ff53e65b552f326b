/**
 * The rules that names follow, and the API server's explanation of each breach. A rule answers with explanations, none
 * when the name is fine.
 */
const MAX_DNS_LABEL_LENGTH = 63
export const MAX_DNS_SUBDOMAIN_LENGTH = 253
const MAX_PORT_NAME_LENGTH = 15
const MAX_PORT = 65_535
export const MAX_ID = 2 ** 31 - 1

export type NameRule = (name: string) => string[]

const labelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomainPattern = `${labelPattern}(\\.${labelPattern})*`
const label1035Pattern = '[a-z]([-a-z0-9]*[a-z0-9])?'

// Written without nested repetition, so that a hostile text costs one pass.
const labelRegExp = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/
const label1035RegExp = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/
const labelWithUnderscoreRegExp = /^_?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/

const labelBreach = explain(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  labelPattern,
  'my-name',
  '123-abc',
)
const subdomainBreach = explain(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomainPattern,
  'example.com',
)
const label1035Breach = explain(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  label1035Pattern,
  'my-name',
  'abc-123',
)
const wildcardBreach = explain(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  `\\*\\.${subdomainPattern}`,
  '*.example.com',
)
const underscorePattern = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const subdomainWithUnderscoreBreach = explain(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  `${underscorePattern}(\\.${underscorePattern})*`,
  'example.com',
)
const configKeyBreach = explain(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  '[-._a-zA-Z0-9]+',
  'key.name',
  'KEY_NAME',
  'key-name',
)
const headerNameBreach = explain(
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  '[-A-Za-z0-9]+',
  'X-Header-Name',
)

export function dnsSubdomain(name: string): string[] {
  return collect(tooLong(name, MAX_DNS_SUBDOMAIN_LENGTH), isSubdomain(name) ? undefined : subdomainBreach)
}

export function dnsSubdomainWithUnderscore(name: string): string[] {
  const matches = name.split('.').every((part) => labelWithUnderscoreRegExp.test(part))
  return collect(tooLong(name, MAX_DNS_SUBDOMAIN_LENGTH), matches ? undefined : subdomainWithUnderscoreBreach)
}

export function wildcardSubdomain(name: string): string[] {
  const matches = name.startsWith('*.') && isSubdomain(name.slice(2))
  return collect(tooLong(name, MAX_DNS_SUBDOMAIN_LENGTH), matches ? undefined : wildcardBreach)
}

export function dnsLabel(name: string): string[] {
  const breach = isSubdomain(name) ? 'must not contain dots' : labelBreach
  return collect(tooLong(name, MAX_DNS_LABEL_LENGTH), labelRegExp.test(name) ? undefined : breach)
}

export function dns1035Label(name: string): string[] {
  return collect(tooLong(name, MAX_DNS_LABEL_LENGTH), label1035RegExp.test(name) ? undefined : label1035Breach)
}

/** Anything that can be one segment of a path: the rule of RBAC objects and the least rule for all others. */
export function pathSegment(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`]
  return ['/', '%'].filter((character) => name.includes(character)).map((found) => `may not contain '${found}'`)
}

/** The key of a ConfigMap or a Secret; it may become the name of a file. */
export function configKey(key: string): string[] {
  return collect(
    tooLong(key, MAX_DNS_SUBDOMAIN_LENGTH),
    /^[-._a-zA-Z0-9]+$/.test(key) ? undefined : configKeyBreach,
    parentDirectoryBreach(key),
  )
}

export function environmentName(name: string): string[] {
  if (name === '') return ['environment variable name must be non-empty']
  const printable = /^[\x20-\x3c\x3e-\x7e]+$/.test(name)
  return printable
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
}

export function headerName(name: string): string[] {
  return /^[-A-Za-z0-9]+$/.test(name) ? [] : [headerNameBreach]
}

export function portName(name: string): string[] {
  return collect(
    tooLong(name, MAX_PORT_NAME_LENGTH),
    /^[-a-z0-9]+$/.test(name) ? undefined : 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    /[a-z]/.test(name) ? undefined : 'must contain at least one letter (a-z)',
    name.includes('--') ? 'must not contain consecutive hyphens' : undefined,
    name.startsWith('-') || name.endsWith('-') ? 'must not begin or end with a hyphen' : undefined,
  )
}

export function portNumber(port: number): string[] {
  return inRange(port, 1, MAX_PORT)
}

export function inRange(value: number, least: number, most: number): string[] {
  return value >= least && value <= most ? [] : [`must be between ${least} and ${most}, inclusive`]
}

/** A name that a random end will follow: the dash before that end counts as fine. */
export function asPrefix(rule: NameRule): NameRule {
  return (name) => rule(name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name)
}

/** A rule, the pattern behind it and examples, in the API server's one sentence. */
export function explain(rule: string, pattern: string, ...examples: readonly string[]): string {
  if (examples.length === 0) return `${rule} (regex used for validation is '${pattern}')`
  const quoted = examples.map((example) => `'${example}', `).join(' or ')
  return `${rule} (e.g. ${quoted}regex used for validation is '${pattern}')`
}

function isSubdomain(name: string): boolean {
  return name.split('.').every((part) => labelRegExp.test(part))
}

function parentDirectoryBreach(value: string): string | undefined {
  if (value === '.' || value === '..') return `must not be '${value}'`
  return value.startsWith('..') ? "must not start with '..'" : undefined
}

function tooLong(name: string, max: number): string | undefined {
  return Buffer.byteLength(name, 'utf8') > max ? `must be no more than ${max} characters` : undefined
}

function collect(...breaches: readonly (string | undefined)[]): string[] {
  return breaches.filter((breach) => breach !== undefined)
}

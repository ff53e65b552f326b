/** Rules for label keys and values, and the API server's explanation of each breach. */

/** The API's own rule for label keys and values. */
const MAX_LABEL_NAME_LENGTH = 63
const MAX_LABEL_VALUE_LENGTH = 63
const MAX_LABEL_PREFIX_LENGTH = 253

const namePattern = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const valuePattern = `(${namePattern})?`
const domainLabelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const domainPattern = `${domainLabelPattern}(\\.${domainLabelPattern})*`

const nameRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
const valueRule = `a valid label must be an empty string or ${nameRule.slice('must '.length)}`
const domainRule =
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
  "'-' or '.', and must start and end with an alphanumeric character"

const nameBreach = explain(nameRule, namePattern, 'MyName', 'my.name', '123-abc')
const valueBreach = explain(valueRule, valuePattern, 'MyValue', 'my_value', '12345')
const domainBreach = explain(domainRule, domainPattern, 'example.com')

// Written without nested repetition, so that a hostile text costs one pass.
const nameRegExp = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const domainLabelRegExp = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/

/** What is wrong with a label key such as `app` or `example.com/app`; empty when nothing is. */
export function labelKeyBreaches(key: string): string[] {
  const [first = '', second, ...rest] = key.split('/')
  if (rest.length > 0) {
    return [`a valid label key ${nameBreach} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  if (second === undefined) return labelNameBreaches(first)
  return [...prefixBreaches(first), ...labelNameBreaches(second)]
}

function prefixBreaches(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty']
  const breaches: string[] = []
  if (byteLength(prefix) > MAX_LABEL_PREFIX_LENGTH) breaches.push(tooLong(MAX_LABEL_PREFIX_LENGTH))
  if (!prefix.split('.').every((label) => domainLabelRegExp.test(label))) breaches.push(domainBreach)
  return breaches.map((breach) => `prefix part ${breach}`)
}

function labelNameBreaches(name: string): string[] {
  const breaches: string[] = []
  if (name === '') breaches.push('must be non-empty')
  else if (byteLength(name) > MAX_LABEL_NAME_LENGTH) breaches.push(tooLong(MAX_LABEL_NAME_LENGTH))
  if (!nameRegExp.test(name)) breaches.push(nameBreach)
  return breaches.map((breach) => `name part ${breach}`)
}

/** What is wrong with a label value; empty when nothing is. */
export function labelValueBreaches(value: string): string[] {
  const breaches: string[] = []
  if (byteLength(value) > MAX_LABEL_VALUE_LENGTH) breaches.push(tooLong(MAX_LABEL_VALUE_LENGTH))
  if (value !== '' && !nameRegExp.test(value)) breaches.push(valueBreach)
  return breaches
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

function tooLong(maxBytes: number): string {
  return `must be no more than ${maxBytes} bytes`
}

function explain(rule: string, pattern: string, ...examples: readonly string[]): string {
  const quoted = examples.map((example) => `'${example}', `).join(' or ')
  return `${rule} (e.g. ${quoted}regex used for validation is '${pattern}')`
}

/** IP addresses and ranges as the API server accepts them, and which addresses may stand behind a Service. */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { type FieldError, invalidField } from '../../kube/status/field-error.ts'

const notAnIp = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
const notACidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

export function checkIp(address: string, path: string): FieldError[] {
  return isIP(withoutLeadingZeros(address)) === 0 || address.includes('%') ? [invalidField(path, address, notAnIp)] : []
}

export function checkCidr(range: string, path: string): FieldError[] {
  return isCidr(range) ? [] : [invalidField(path, range, notACidr)]
}

/** `IPv4` or `IPv6`, undefined when the text is no address. */
export function ipFamily(address: string): 'IPv4' | 'IPv6' | undefined {
  if (isIPv4(withoutLeadingZeros(address))) return 'IPv4'
  return isIPv6(address) ? 'IPv6' : undefined
}

export function isCidr(range: string): boolean {
  const [address = '', prefix = '', ...rest] = range.split('/')
  const family = ipFamily(address)
  if (family === undefined || rest.length > 0 || !/^(?:0|[1-9][0-9]*)$/.test(prefix)) return false
  return Number(prefix) <= (family === 'IPv4' ? 32 : 128)
}

/** Addresses that lead nowhere useful behind a Service, with the API server's word for each. */
export function checkEndpointIp(address: string, path: string): FieldError[] {
  const bytes = ipBytes(address)
  if (bytes === undefined) return []
  const [first = 0, second = 0] = bytes
  const isV4 = bytes.length === 4
  const refused: string[] = []
  if (bytes.every((byte) => byte === 0)) refused.push(`may not be unspecified (${address})`)
  if (isV4 ? first === 127 : bytes.every((byte, index) => byte === (index === 15 ? 1 : 0))) {
    refused.push('may not be in the loopback range (127.0.0.0/8, ::1/128)')
  }
  if (isV4 ? first === 169 && second === 254 : first === 0xfe && (second & 0xc0) === 0x80) {
    refused.push('may not be in the link-local range (169.254.0.0/16, fe80::/10)')
  }
  if (isV4 ? first === 224 && second === 0 && bytes[2] === 0 : first === 0xff && (second & 0x0f) === 0x02) {
    refused.push('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)')
  }
  return refused.map((detail) => invalidField(path, address, detail))
}

/** Old addresses such as 010.1.2.3 are still read, as decimal numbers. */
function withoutLeadingZeros(address: string): string {
  return address.includes(':') ? address : address.replaceAll(/\b0+(?=[0-9])/g, '')
}

function ipBytes(address: string): number[] | undefined {
  const family = ipFamily(address)
  if (family === undefined) return undefined
  if (family === 'IPv4') return withoutLeadingZeros(address).split('.').map(Number)
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [before, after] = [groups(head), tail === undefined ? [] : groups(tail)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0)
  const all = [...before, ...zeros, ...after]
  const bytes = all.flatMap((group) => [group >> 8, group & 0xff])
  const mapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff
  return mapped ? bytes.slice(12) : bytes
}

/** Endpoints and EndpointSlices. */
import { labelKeyBreaches, labelValueBreaches } from '../../../kube/selectors/names.ts'
import {
  duplicateField,
  type FieldError,
  invalidField,
  requiredField,
  tooManyField,
} from '../../../kube/status/field-error.ts'
import { checkEndpointIp, checkIp, ipFamily } from '../addresses.ts'
import { checkEach, checkImmutable, checkName, checkNumber, checkRequiredSupported, checkSupported } from '../checks.ts'
import { sameValue } from '../equality.ts'
import { type Fields, has, integer, struct, structs, text, texts } from '../fields.ts'
import { dnsLabel, dnsSubdomain, portNumber } from '../names.ts'
import { PORT_PROTOCOLS } from '../pods/containers.ts'
import type { KindRules } from '../rules.ts'

const MAX_ENDPOINTS = 1000
const MAX_ENDPOINT_ADDRESSES = 100
const MAX_ENDPOINT_PORTS = 20_000

export const ENDPOINTS_RULES: KindRules = {
  checksMetadataAgain: true,
  allowsCreateOnUpdate: true,
  check: (object) => checkEach(structs(object, 'subsets'), 'subsets', checkSubset),
  checkUpdate: (object, old) =>
    sameValue(object['subsets'], old['subsets']) ? [] : checkEach(structs(object, 'subsets'), 'subsets', checkSubset),
}

export const ENDPOINT_SLICE_RULES: KindRules = {
  checksMetadataAgain: true,
  generationOf: ['endpoints', 'ports', 'addressType', 'metadata.labels'],
  check: (slice) => [...checkSlice(slice), ...checkSliceEndpoints(slice)],
  checkUpdate: (slice, old) => [
    ...checkSlice(slice),
    ...(sameValue(slice['endpoints'], old['endpoints']) ? [] : checkSliceEndpoints(slice)),
    ...checkImmutable(slice['addressType'], old['addressType'], 'addressType'),
  ],
}

function checkSubset(subset: Fields, path: string): FieldError[] {
  const [ready, notReady] = [structs(subset, 'addresses'), structs(subset, 'notReadyAddresses')]
  const ports = structs(subset, 'ports')
  const errors =
    ready.length + notReady.length === 0 ? [requiredField(path, 'must specify `addresses` or `notReadyAddresses`')] : []
  return [
    ...errors,
    ...checkEach(ready, `${path}.addresses`, checkAddress),
    ...checkEach(notReady, `${path}.notReadyAddresses`, checkAddress),
    ...checkEach(ports, `${path}.ports`, (port, at) => [
      ...(text(port, 'name') === ''
        ? ports.length > 1
          ? [requiredField(`${at}.name`)]
          : []
        : checkName(text(port, 'name'), `${at}.name`, dnsLabel)),
      ...checkNumber(integer(port, 'port') ?? 0, `${at}.port`, portNumber),
      ...checkRequiredSupported(text(port, 'protocol'), `${at}.protocol`, PORT_PROTOCOLS),
      ...checkAppProtocol(port, at),
    ]),
  ]
}

function checkAddress(address: Fields, path: string): FieldError[] {
  const ip = text(address, 'ip')
  const hostname = text(address, 'hostname')
  const invalid = checkIp(ip, `${path}.ip`)
  return [
    ...invalid,
    ...(hostname === '' ? [] : checkName(hostname, `${path}.hostname`, dnsLabel)),
    ...(has(address, 'nodeName') ? checkName(text(address, 'nodeName'), `${path}.nodeName`, dnsSubdomain) : []),
    ...(invalid.length > 0
      ? [invalidField(`${path}.ip`, ip, 'must be a valid IP address')]
      : checkEndpointIp(ip, `${path}.ip`)),
  ]
}

function checkAppProtocol(port: Fields, path: string): FieldError[] {
  return has(port, 'appProtocol') ? checkName(text(port, 'appProtocol'), `${path}.appProtocol`, labelKeyBreaches) : []
}

function checkSlice(slice: Fields): FieldError[] {
  const ports = structs(slice, 'ports')
  const names = new Set<string>()
  const type = text(slice, 'addressType')
  const errors = checkRequiredSupported(type, 'addressType', ['FQDN', 'IPv4', 'IPv6'])
  if (ports.length > MAX_ENDPOINT_PORTS) return [...errors, tooManyField('ports', ports.length, MAX_ENDPOINT_PORTS)]
  return [
    ...errors,
    ...checkEach(ports, 'ports', (port, at) => {
      const name = text(port, 'name')
      const found = name === '' ? [] : checkName(name, `${at}.name`, dnsLabel)
      if (names.has(name)) found.push(duplicateField(`${at}.name`, name))
      names.add(name)
      return [
        ...found,
        ...checkSupported(text(port, 'protocol'), `${at}.protocol`, PORT_PROTOCOLS),
        ...checkAppProtocol(port, at),
      ]
    }),
  ]
}

function checkSliceEndpoints(slice: Fields): FieldError[] {
  const endpoints = structs(slice, 'endpoints')
  const type = text(slice, 'addressType')
  if (endpoints.length > MAX_ENDPOINTS) return [tooManyField('endpoints', endpoints.length, MAX_ENDPOINTS)]
  return checkEach(endpoints, 'endpoints', (endpoint, at) => {
    const addresses = texts(endpoint, 'addresses')
    const errors: FieldError[] = []
    if (addresses.length === 0) errors.push(requiredField(`${at}.addresses`, 'must contain at least 1 address'))
    else if (addresses.length > MAX_ENDPOINT_ADDRESSES) {
      errors.push(tooManyField(`${at}.addresses`, addresses.length, MAX_ENDPOINT_ADDRESSES))
    }
    return [
      ...errors,
      ...checkEach(addresses, `${at}.addresses`, (address, addressAt) =>
        checkSliceAddress(address, type, addressAt, `${at}.addresses`),
      ),
      ...(has(endpoint, 'nodeName') ? checkName(text(endpoint, 'nodeName'), `${at}.nodeName`, dnsSubdomain) : []),
      ...(has(endpoint, 'hostname') ? checkName(text(endpoint, 'hostname'), `${at}.hostname`, dnsLabel) : []),
      ...checkEach(structs(struct(endpoint, 'hints'), 'forZones'), `${at}.hints.forZones`, (zone, zoneAt) =>
        checkName(text(zone, 'name'), `${zoneAt}.name`, labelValueBreaches),
      ),
    ]
  })
}

function checkSliceAddress(address: string, type: string, path: string, listPath: string): FieldError[] {
  if (type === 'FQDN') return checkDomain(address, path)
  if (type !== 'IPv4' && type !== 'IPv6') return []
  const invalid = checkIp(address, path)
  if (invalid.length > 0) return invalid
  const wrongFamily = ipFamily(address) === type ? [] : [invalidField(listPath, address, `must be an ${type} address`)]
  return [...wrongFamily, ...checkEndpointIp(address, path)]
}

function checkDomain(name: string, path: string): FieldError[] {
  if (name === '') return [requiredField(path)]
  const bare = name.replace(/\.$/, '')
  const breaches = dnsSubdomain(bare)
  if (breaches.length > 0) return [invalidField(path, bare, breaches.join(','))]
  const detail = 'should be a domain with at least two segments separated by dots'
  return bare.includes('.') ? [] : [invalidField(path, bare, detail)]
}

/** APIServices. */
import { type FieldError, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkName, checkNumber, checkRequired } from '../checks.ts'
import { type Fields, flag, integer, struct, text } from '../fields.ts'
import { dns1035Label, dnsSubdomain, pathSegment, portNumber } from '../names.ts'
import type { KindRules } from '../rules.ts'

const MAX_GROUP_PRIORITY = 20_000
const MAX_VERSION_PRIORITY = 1000

export const API_SERVICE_RULES: KindRules = {
  name: pathSegment,
  allowsUnconditionalUpdate: false,
  check: checkApiService,
}

function checkApiService(object: Fields): FieldError[] {
  const spec = struct(object, 'spec') ?? {}
  const [group, version, name] = [text(spec, 'group'), text(spec, 'version'), text(struct(object, 'metadata'), 'name')]
  const errors: FieldError[] = []
  if (name !== '' && name !== `${version}.${group}`) {
    const detail = `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(`${version}.${group}`)}`
    errors.push(invalidField('metadata.name', name, detail))
  }
  if (group === '' && version !== 'v1') {
    errors.push(requiredField('spec.group', 'only v1 may have an empty group and it better be legacy kube'))
  }
  return [
    ...errors,
    ...(group === '' ? [] : checkName(group, 'spec.group', dnsSubdomain)),
    ...checkName(version, 'spec.version', dns1035Label),
    ...checkPriority(spec, 'groupPriorityMinimum', MAX_GROUP_PRIORITY),
    ...checkPriority(spec, 'versionPriority', MAX_VERSION_PRIORITY),
    ...checkBackend(spec, struct(spec, 'service')),
  ]
}

function checkPriority(spec: Fields, name: string, max: number): FieldError[] {
  const value = integer(spec, name) ?? 0
  return value > 0 && value <= max ? [] : [invalidField(`spec.${name}`, value, `must be positive and less than ${max}`)]
}

function checkBackend(spec: Fields, service: Fields | undefined): FieldError[] {
  const bundleBytes = Buffer.byteLength(text(spec, 'caBundle'), 'base64')
  const skipsVerification = flag(spec, 'insecureSkipTLSVerify')
  const at = 'spec.insecureSkipTLSVerify'
  if (service === undefined) {
    const bundle = invalidField('spec.caBundle', `${bundleBytes} bytes`, 'local APIServices may not have a caBundle')
    return [
      ...(bundleBytes > 0 ? [bundle] : []),
      ...(skipsVerification ? [invalidField(at, true, 'local APIServices may not have insecureSkipTLSVerify')] : []),
    ]
  }
  return [
    ...checkRequired(text(service, 'namespace'), 'spec.service.namespace'),
    ...checkRequired(text(service, 'name'), 'spec.service.name'),
    ...checkNumber(integer(service, 'port') ?? 0, 'spec.service.port', (port) =>
      portNumber(port).map((breach) => `port is not valid: ${breach}`),
    ),
    ...(skipsVerification && bundleBytes > 0 ? [invalidField(at, true, 'may not be true if caBundle is present')] : []),
  ]
}

/** `PodSpec`, in pods and in pod templates. */
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import { duplicateField, type FieldError, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkIp } from '../addresses.ts'
import {
  checkEach,
  checkName,
  checkNumber,
  checkRequiredName,
  checkRequiredSupported,
  checkSupported,
} from '../checks.ts'
import { type Fields, flag, has, integer, struct, structs, text, textMap, texts } from '../fields.ts'
import { checkLabels } from '../metadata.ts'
import { dnsLabel, dnsSubdomain, dnsSubdomainWithUnderscore, inRange, MAX_ID, type NameRule } from '../names.ts'
import { checkAffinity, checkTopologySpread } from './affinity.ts'
import { checkContainers, checkEphemeralContainers, checkInitContainers, type PodSurroundings } from './containers.ts'
import { checkResources, NO_CLAIMS, OfferedClaims } from './resources.ts'
import { checkHostUsers, checkPodSecurityContext } from './security-context.ts'
import { checkTolerations } from './tolerations.ts'
import { checkVolumes } from './volumes.ts'

const MAX_DNS_NAMESERVERS = 3
const MAX_DNS_SEARCH_PATHS = 32
const MAX_DNS_SEARCH_CHARACTERS = 2048

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never']
const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']

/** `metadata` is that of the pod; it is absent in a template, where some rules are milder. */
export function checkPodSpec(spec: Fields, metadata: Fields | undefined, path: string): FieldError[] {
  const { errors, volumes } = checkVolumes(structs(spec, 'volumes'), metadata, `${path}.volumes`)
  const containers = structs(spec, 'containers')
  const pod: PodSurroundings = {
    volumes,
    offeredClaims: new OfferedClaims(structs(spec, 'resourceClaims').map((claim) => text(claim, 'name'))),
    gracePeriodSeconds: integer(spec, 'terminationGracePeriodSeconds'),
    restartPolicy: text(spec, 'restartPolicy'),
    hostUsers: spec['hostUsers'] !== false,
  }
  return [
    ...errors,
    ...checkResourceClaims(spec, `${path}.resourceClaims`),
    ...checkContainers(containers, pod, `${path}.containers`),
    ...checkInitContainers(structs(spec, 'initContainers'), containers, pod, `${path}.initContainers`),
    ...checkEphemeralContainers(spec, pod, `${path}.ephemeralContainers`),
    ...(has(spec, 'resources') ? checkResources(struct(spec, 'resources'), NO_CLAIMS, `${path}.resources`) : []),
    ...checkHostNetworkPorts(spec, path, metadata !== undefined),
    ...checkRequiredSupported(text(spec, 'restartPolicy'), `${path}.restartPolicy`, RESTART_POLICIES),
    ...checkRequiredSupported(text(spec, 'dnsPolicy'), `${path}.dnsPolicy`, dnsPolicies),
    ...checkLabels(textMap(spec, 'nodeSelector'), `${path}.nodeSelector`),
    ...checkPodSecurityContext(struct(spec, 'securityContext'), spec, `${path}.securityContext`),
    ...checkAffinity(struct(spec, 'affinity'), `${path}.affinity`),
    ...checkDnsConfig(spec, `${path}.dnsConfig`),
    ...checkGates(spec, path),
    ...checkTopologySpread(structs(spec, 'topologySpreadConstraints'), `${path}.topologySpreadConstraints`),
    ...checkHostUsers(spec, path),
    ...checkNames(spec, path),
  ]
}

/** The rest of the spec, in the API server's order: names of other things, deadlines, tolerations. */
function checkNames(spec: Fields, path: string): FieldError[] {
  const optional = (name: string, rule: NameRule): FieldError[] =>
    text(spec, name) === '' ? [] : checkName(text(spec, name), `${path}.${name}`, rule)
  return [
    ...optional('serviceAccountName', dnsSubdomain),
    ...optional('nodeName', dnsSubdomain),
    ...checkNumber(integer(spec, 'activeDeadlineSeconds'), `${path}.activeDeadlineSeconds`, (seconds) =>
      inRange(seconds, 1, MAX_ID),
    ),
    ...optional('hostname', dnsLabel),
    ...optional('subdomain', dnsLabel),
    ...checkTolerations(structs(spec, 'tolerations'), `${path}.tolerations`),
    ...checkHostAliases(spec, `${path}.hostAliases`),
    ...optional('priorityClassName', dnsSubdomain),
    ...(has(spec, 'runtimeClassName')
      ? checkName(text(spec, 'runtimeClassName'), `${path}.runtimeClassName`, dnsSubdomain)
      : []),
    ...(has(spec, 'preemptionPolicy')
      ? checkRequiredSupported(text(spec, 'preemptionPolicy'), `${path}.preemptionPolicy`, [
          'PreemptLowerPriority',
          'Never',
        ])
      : []),
    ...(has(spec, 'overhead') ? checkResources({ limits: spec['overhead'] }, NO_CLAIMS, `${path}.overhead`) : []),
    ...checkOs(struct(spec, 'os'), `${path}.os`),
  ]
}

function checkResourceClaims(spec: Fields, path: string): FieldError[] {
  const names = new Set<string>()
  return checkEach(structs(spec, 'resourceClaims'), path, (claim, at) => {
    const name = text(claim, 'name')
    const errors = names.has(name)
      ? [duplicateField(`${at}.name`, name)]
      : checkRequiredName(name, `${at}.name`, dnsLabel)
    names.add(name)
    const sources = ['resourceClaimName', 'resourceClaimTemplateName']
    const given = sources.filter((source) => has(claim, source))
    if (given.length !== 1) {
      const listed = sources.map((source) => `\`${source}\``)
      const detail =
        given.length === 0
          ? `must specify one of: ${listed.join(', ')}`
          : `at most one of ${listed.join(' or ')} may be specified`
      const [claimName, templateName] = sources.map((source) => claim[source] ?? null)
      const shown = { Name: name, ResourceClaimName: claimName, ResourceClaimTemplateName: templateName }
      errors.push(invalidField(at, shown, detail))
    }
    return [...errors, ...given.flatMap((source) => checkName(text(claim, source), `${at}.${source}`, dnsSubdomain))]
  })
}

function checkHostNetworkPorts(spec: Fields, path: string, isPod: boolean): FieldError[] {
  if (!flag(spec, 'hostNetwork')) return []
  return checkEach(structs(spec, 'containers'), `${path}.containers`, (container, containerAt) =>
    checkEach(structs(container, 'ports'), `${containerAt}.ports`, (port, at) => {
      const [hostPort, containerPort] = [integer(port, 'hostPort') ?? 0, integer(port, 'containerPort') ?? 0]
      const detail = 'must match `containerPort` when `hostNetwork` is true'
      const mustMatch = isPod || hostPort !== 0
      return mustMatch && hostPort !== containerPort ? [invalidField(`${at}.hostPort`, hostPort, detail)] : []
    }),
  )
}

function checkDnsConfig(spec: Fields, path: string): FieldError[] {
  const config = struct(spec, 'dnsConfig')
  const servers = texts(config, 'nameservers')
  if (text(spec, 'dnsPolicy') === 'None') {
    if (config === undefined) return [requiredField(path, 'must provide `dnsConfig` when `dnsPolicy` is None')]
    const detail = 'must provide at least one DNS nameserver when `dnsPolicy` is None'
    if (servers.length === 0) return [requiredField(`${path}.nameservers`, detail)]
  }
  const errors: FieldError[] = []
  if (servers.length > MAX_DNS_NAMESERVERS) {
    const detail = `must not have more than ${MAX_DNS_NAMESERVERS} nameservers`
    errors.push(invalidField(`${path}.nameservers`, servers, detail))
  }
  return [
    ...errors,
    ...checkEach(servers, `${path}.nameservers`, checkIp),
    ...checkSearches(texts(config, 'searches'), `${path}.searches`),
    ...checkEach(structs(config, 'options'), `${path}.options`, (option, at) =>
      text(option, 'name') === '' ? [requiredField(at, 'must not be empty')] : [],
    ),
  ]
}

function checkSearches(searches: readonly string[], path: string): FieldError[] {
  const errors: FieldError[] = []
  if (searches.length > MAX_DNS_SEARCH_PATHS) {
    errors.push(invalidField(path, searches, `must not have more than ${MAX_DNS_SEARCH_PATHS} search paths`))
  }
  if (searches.join(' ').length > MAX_DNS_SEARCH_CHARACTERS) {
    const detail = `must not have more than ${MAX_DNS_SEARCH_CHARACTERS} characters (including spaces) in the search list`
    errors.push(invalidField(path, searches, detail))
  }
  return [
    ...errors,
    ...checkEach(searches, path, (search, at) =>
      search === '.' ? [] : checkName(search.replace(/\.$/, ''), at, dnsSubdomainWithUnderscore),
    ),
  ]
}

function checkGates(spec: Fields, path: string): FieldError[] {
  const seen = new Set<string>()
  return [
    ...checkEach(structs(spec, 'readinessGates'), `${path}.readinessGates`, (gate, at) =>
      checkName(text(gate, 'conditionType'), `${at}.conditionType`, labelKeyBreaches),
    ),
    ...checkEach(structs(spec, 'schedulingGates'), `${path}.schedulingGates`, (gate, at) => {
      const name = text(gate, 'name')
      const errors = checkName(name, at, labelKeyBreaches)
      if (seen.has(name)) errors.push(duplicateField(at, name))
      seen.add(name)
      return errors
    }),
  ]
}

function checkHostAliases(spec: Fields, path: string): FieldError[] {
  return checkEach(structs(spec, 'hostAliases'), path, (alias, at) => [
    ...checkIp(text(alias, 'ip'), `${at}.ip`),
    ...checkEach(texts(alias, 'hostnames'), `${at}.hostnames`, (name, nameAt) => checkName(name, nameAt, dnsSubdomain)),
  ])
}

function checkOs(os: Fields | undefined, path: string): FieldError[] {
  if (os === undefined) return []
  const name = text(os, 'name')
  return name === '' ? [requiredField(`${path}.name`)] : checkSupported(name, path, ['linux', 'windows'])
}

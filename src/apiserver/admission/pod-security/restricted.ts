/** The rules that the level `restricted` adds: what a pod must give up although it would not reach its node with it. */
import { flag, has, integer, struct, structs, text, texts } from '../../kinds/fields.ts'
import { checkProcMount, checkSeccomp, seccompTypeOf } from './baseline.ts'
import type { Rule } from './rule.ts'
import {
  type Breach,
  type Container,
  counted,
  distinct,
  namesOf,
  plural,
  quoted,
  type Subject,
  setters,
  uses,
} from './subject.ts'

const plainVolumes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

/** In the order of their names, in which breaches are told after those of the lower level. */
export const RESTRICTED_RULES: readonly Rule[] = [
  { id: 'allowPrivilegeEscalation', since: 8, sparesWindowsSince: 25, check: checkEscalation },
  {
    id: 'capabilities_restricted',
    since: 22,
    sparesWindowsSince: 25,
    replaces: 'capabilities_baseline',
    check: checkCapabilities,
  },
  { id: 'procMount_restricted', since: 35, replaces: 'procMount', check: checkProcMount },
  { id: 'restrictedVolumes', replaces: 'hostPathVolumes', check: checkVolumes },
  { id: 'runAsNonRoot', until: 35, check: checkNonRoot },
  { id: 'runAsNonRoot', since: 35, sparesUserNamespaces: true, check: checkNonRoot },
  { id: 'runAsUser', since: 23, until: 35, check: checkUser },
  { id: 'runAsUser', since: 35, sparesUserNamespaces: true, check: checkUser },
  {
    id: 'seccompProfile_restricted',
    since: 19,
    sparesWindowsSince: 25,
    replaces: 'seccompProfile_baseline',
    check: checkSeccompIsSet,
  },
]

function checkEscalation({ containers }: Subject): Breach | undefined {
  const bad = namesOf(containers.filter(({ security }) => security?.['allowPrivilegeEscalation'] !== false))
  if (bad.length === 0) return undefined
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${counted('container', bad)} must set securityContext.allowPrivilegeEscalation=false`,
  }
}

function checkCapabilities({ containers }: Subject): Breach | undefined {
  const capabilities = ({ security }: Container, list: string): string[] =>
    texts(struct(security, 'capabilities'), list)
  const extra = (container: Container): string[] =>
    capabilities(container, 'add').filter((name) => name !== 'NET_BIND_SERVICE')
  const keeping = namesOf(containers.filter((container) => !capabilities(container, 'drop').includes('ALL')))
  const adding = containers.filter((container) => extra(container).length > 0)
  const details: string[] = []
  if (keeping.length > 0) {
    details.push(`${counted('container', keeping)} must set securityContext.capabilities.drop=["ALL"]`)
  }
  if (adding.length > 0) {
    const added = quoted(distinct(adding.flatMap(extra)))
    const who = counted('container', namesOf(adding))
    details.push(`${who} must not include ${added} in securityContext.capabilities.add`)
  }
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

function checkVolumes({ spec }: Subject): Breach | undefined {
  const bad = structs(spec, 'volumes').filter((volume) => !plainVolumes.some((type) => has(volume, type)))
  if (bad.length === 0) return undefined
  const typeOf = (volume: Record<string, unknown>): string =>
    Object.keys(volume).find((key) => key !== 'name' && has(volume, key)) ?? 'unknown'
  const types = distinct(bad.map(typeOf))
  const who = counted(
    'volume',
    bad.map((volume) => text(volume, 'name')),
  )
  const what = `${plural('restricted volume type', types.length)} ${quoted(types)}`
  return { reason: 'restricted volume types', detail: `${who} ${uses(bad.length)} ${what}` }
}

function checkNonRoot({ security, containers }: Subject): Breach | undefined {
  const reason = 'runAsNonRoot != true'
  const allowsRoot = (context: Container['security']): boolean => context?.['runAsNonRoot'] === false
  const who = setters(
    allowsRoot(security),
    containers.filter((container) => allowsRoot(container.security)),
  )
  if (who !== '') return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` }
  if (flag(security, 'runAsNonRoot')) return undefined
  const silent = namesOf(containers.filter((container) => !has(container.security, 'runAsNonRoot')))
  if (silent.length === 0) return undefined
  return { reason, detail: `pod or ${counted('container', silent)} must set securityContext.runAsNonRoot=true` }
}

function checkUser({ security, containers }: Subject): Breach | undefined {
  const isRoot = (context: Container['security']): boolean => integer(context, 'runAsUser') === 0
  const who = setters(
    isRoot(security),
    containers.filter((container) => isRoot(container.security)),
  )
  return who === '' ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` }
}

function checkSeccompIsSet(subject: Subject): Breach | undefined {
  const wrong = checkSeccomp(subject)
  if (wrong !== undefined || seccompTypeOf(subject.security) !== undefined) return wrong
  const silent = namesOf(subject.containers.filter(({ security }) => seccompTypeOf(security) === undefined))
  if (silent.length === 0) return undefined
  const wanted = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
  return { reason: 'seccompProfile', detail: `pod or ${counted('container', silent)} must set ${wanted}` }
}

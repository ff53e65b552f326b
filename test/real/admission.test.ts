/**
 * Admission against a real kube-apiserver: the same requests in the same cluster must end in the same object or the same
 * refusal, word for word. Every request is a dry run, so that none changes what the next one finds.
 */
import { generateKeyPairSync } from 'node:crypto'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { admissionPlugins } from '../../src/apiserver/admission/plugins.ts'
import { quotaUsage } from '../../src/apiserver/admission/quota/usage.ts'
import { standardAuthorizer } from '../../src/apiserver/auth/modes.ts'
import { NodeGraph } from '../../src/apiserver/auth/node/graph.ts'
import { EscalationCheck } from '../../src/apiserver/auth/rbac/escalation.ts'
import { RBAC_RESOURCES } from '../../src/apiserver/auth/rbac/objects.ts'
import { RbacView } from '../../src/apiserver/auth/rbac/view.ts'
import { Admission, type AdmissionRequest } from '../../src/apiserver/core/admission.ts'
import { strategyOf } from '../../src/apiserver/kinds/registry.ts'
import { inOrder } from '../../src/apiserver/objects/decode-body.ts'
import type { Resource } from '../../src/apiserver/objects/resource.ts'
import { createRequest } from '../../src/identity/csr.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { KubeClient } from '../../src/kube/client/client.ts'
import { loadKubeconfig } from '../../src/kube/client/kubeconfig.ts'
import type { KubeList, KubeObject } from '../../src/kube/objects.ts'
import { invalid } from '../../src/kube/status/resource-errors.ts'
import { ApiError } from '../../src/kube/status/status.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { resourceOf, World } from '../worlds/admission-world.ts'
import {
  ADMIN,
  type Case,
  certificateCases,
  FIRST,
  type Given,
  nodeCases,
  QUOTAS,
  SECOND,
  type SigningRequests,
  STATIC_CASES,
  signingRequestsGiven,
} from './admission-fixtures.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

/** How long the real server may take to see what was just written. */
const settleMs = 60_000
/** Given to services after all plugins. */
const allocatedFields = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'ports']
const looked = [
  'namespaces',
  'nodes',
  'pods',
  'services',
  'serviceaccounts',
  'configmaps',
  'secrets',
  'limitranges',
  'resourcequotas',
  'persistentvolumeclaims',
  'persistentvolumes',
  'apps/v1/deployments',
  'scheduling.k8s.io/v1/priorityclasses',
  'storage.k8s.io/v1/storageclasses',
  'storage.k8s.io/v1/csidrivers',
  'networking.k8s.io/v1/ingressclasses',
  'certificates.k8s.io/v1/certificatesigningrequests',
  ...RBAC_RESOURCES.map((resource) => `rbac.authorization.k8s.io/v1/${resource}`),
]

interface Place {
  readonly resource: Resource
  readonly subresource: string
}

describeReal('admission', () => {
  let plane: ControlPlane
  let client: KubeClient
  let signingRequests: SigningRequests
  const world = new World()
  const view = new RbacView()
  const authorizer = standardAuthorizer({ graph: new NodeGraph(), source: view })
  const escalation = new EscalationCheck(view, authorizer)
  const admission = new Admission(admissionPlugins({ lookup: world, clock: systemClock, authorizer, escalation }))

  beforeAll(async () => {
    plane = await startControlPlane({ checksServiceAccounts: true })
    client = new KubeClient(await loadKubeconfig({ file: plane.kubeconfigFile }), { maxConnections: 4 })
    signingRequests = await makeSigningRequests()
    await give([...FIRST, ...signingRequestsGiven(signingRequests), ...QUOTAS])
    for (const quota of QUOTAS) await setUsage(quota, () => '0')
    await untilCounting()
    await give(SECOND)
    await client.exchange({ method: 'DELETE', path: '/api/v1/namespaces/going' })
    for (const name of looked) {
      const { resource } = placeOf(name)
      const list = await client.exchange<KubeList & KubeObject>({ method: 'GET', path: pathOf(resource) })
      world.add(name, ...list.items)
    }
    for (const resource of RBAC_RESOURCES) {
      for (const object of world.list({ group: 'rbac.authorization.k8s.io', resource }, '')) view.put(resource, object)
    }
  })

  afterAll(async () => {
    await client?.close()
    await plane?.stop()
  })

  async function give(objects: readonly Given[]): Promise<void> {
    for (const { resource, namespace, object } of objects) {
      const path = pathOf(placeOf(resource).resource, namespace)
      // The server believes in a namespace, an account or a quota a moment after it was made.
      await vi.waitFor(() => client.exchange({ method: 'POST', path }, object), { timeout: settleMs, interval: 50 })
    }
  }

  /** No controller runs that would say how much of a quota is used; the server counts on from nothing by itself. */
  async function setUsage({ namespace, object }: Given, usedOf: (hard: string) => string): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/resourcequotas/${object.metadata?.name}`
    const quota = await client.exchange({ method: 'GET', path })
    const { hard } = object['spec'] as { hard: Record<string, string> }
    const used = Object.fromEntries(Object.entries(hard).map(([name, amount]) => [name, usedOf(amount)]))
    await client.exchange({ method: 'PUT', path: `${path}/status` }, { ...quota, status: { hard, used } })
  }

  /** A quota that the server has not seen yet counts nothing. It sees them in their order, so the last tells of all. */
  async function untilCounting(): Promise<void> {
    const [quota, counted] = [QUOTAS.at(-1) as Given, SECOND.at(-1) as Given]
    const path = `${pathOf(placeOf(counted.resource).resource, counted.namespace)}?dryRun=All`
    const attempt = (): Promise<unknown> => client.exchange({ method: 'POST', path }, counted.object)
    const settle = { timeout: settleMs, interval: 50 }
    await setUsage(quota, (hard) => hard)
    await vi.waitFor(() => expect(attempt()).rejects.toThrow('exceeded quota'), settle)
    await setUsage(quota, () => '0')
    await vi.waitFor(attempt, settle)
  }

  async function compare(entry: Case): Promise<void> {
    const ours = await outcomeOf(() => decide(entry))
    await vi.waitFor(async () => expect(await outcomeOf(() => ask(entry)), entry.what).toEqual(ours), {
      timeout: settleMs,
      interval: 200,
    })
  }

  async function ask(entry: Case): Promise<KubeObject> {
    const { resource, subresource } = placeOf(entry.resource)
    const { as = ADMIN, namespace } = entry
    const name = entry.verb === 'create' && entry.name === undefined ? '' : `/${entry.name}`
    const path = `${pathOf(resource, namespace)}${name}${subresource && `/${subresource}`}?dryRun=All`
    const headers = [['impersonate-user', as.name], ...as.groups.map((group) => ['impersonate-group', group])] as [
      string,
      string,
    ][]
    if (entry.verb === 'delete') {
      // Whether it goes at once is not for admission to decide.
      await client.fetch({ method: 'DELETE', path, headers })
      return {}
    }
    if (entry.verb === 'create') return await client.exchange({ method: 'POST', path, headers }, entry.object)
    return await client.exchange({ method: 'PUT', path, headers }, changed(entry, resource, world))
  }

  /** What our server does: the order of the steps is that of a kube-apiserver. */
  async function decide(entry: Case): Promise<KubeObject> {
    const { resource, subresource } = placeOf(entry.resource)
    const { as: user = ADMIN, namespace = '', verb } = entry
    const operation = verb === 'create' ? 'CREATE' : verb === 'update' ? 'UPDATE' : 'DELETE'
    const old = verb === 'create' ? undefined : world.find(resource.groupResource, namespace, entry.name)
    const object = verb === 'delete' ? undefined : proposal(entry, resource, world)
    const name = entry.verb === 'create' ? (entry.name ?? object?.metadata?.name ?? '') : entry.name
    const request: AdmissionRequest = {
      ...{ operation, resource, subresource, namespace, name, user, dryRun: true, object, old },
      warn: () => undefined,
    }
    if (object !== undefined) await admission.admit(request)
    const ready = object === undefined ? undefined : judge(request, object)
    await admission.validate({ ...request, object: ready })
    return ready ?? {}
  }

  it('compares enough', () => {
    const uidOf = (): string => ''
    const all = [...STATIC_CASES, ...nodeCases(uidOf, signingRequests), ...certificateCases(signingRequests)]
    expect(all.length).toBeGreaterThan(120)
  })

  it.each(STATIC_CASES.map((entry) => [entry.what, entry] as const))('%s', async (_, entry) => await compare(entry))

  it('requests of kubelets', async () => {
    const uidOf = (resource: string, name: string): string =>
      world.find({ group: '', resource }, resource === 'nodes' ? '' : 'work', name)?.metadata?.uid ?? ''
    await compareAll(nodeCases(uidOf, signingRequests))
  })

  it('certificates', async () => await compareAll(certificateCases(signingRequests)))

  /** Their uids and keys are known only now, so they cannot have tests of their own; all failures are told at once. */
  async function compareAll(entries: readonly Case[]): Promise<void> {
    const results = await Promise.allSettled(entries.map(compare))
    const failures = results.filter((result) => result.status === 'rejected').map(({ reason }) => inspect(reason))
    expect(failures.join('\n\n')).toBe('')
  }

  it.each(QUOTAS.map(({ namespace = '', object }) => [object.metadata?.name ?? '', namespace] as const))(
    'counts what uses the quota %s like the real server',
    (name, namespace) => {
      const quota = world.find({ group: '', resource: 'resourcequotas' }, namespace, name) ?? {}
      const { used } = quota['status'] as { used: Record<string, string> }
      expect(Object.values(used).some((amount) => amount !== '0')).toBe(true)
      expect(quotaUsage(quota, world, systemClock.nowMs())).toEqual(used)
    },
  )
})

/** `pods`, `apps/v1/deployments`, `pods:status`. */
function placeOf(text: string): Place {
  const [path = '', subresource = ''] = text.split(':')
  return { resource: resourceOf(path), subresource }
}

function pathOf({ apiVersion, group, row }: Resource, namespace = ''): string {
  const root = group === '' ? `/api/${apiVersion}` : `/apis/${apiVersion}`
  return `${root}${namespace === '' ? '' : `/namespaces/${namespace}`}/${row.resource}`
}

function changed(entry: Case & { verb: 'update' }, { groupResource }: Resource, world: World): KubeObject {
  const object = world.find(groupResource, entry.namespace ?? '', entry.name)
  if (object === undefined) throw new Error(`${entry.what}: no object ${entry.name}`)
  entry.change(object)
  return object
}

/** What a client sends, as it is before the first plugin sees it: complete, and with a name. */
function proposal(entry: Case & { verb: 'create' | 'update' }, resource: Resource, world: World): KubeObject {
  const sent = entry.verb === 'create' ? structuredClone(entry.object) : changed(entry, resource, world)
  if (sent.kind !== resource.kind) return sent
  sent.metadata = { ...sent.metadata, ...(entry.namespace === undefined ? {} : { namespace: entry.namespace }) }
  const { name = '', generateName = '' } = sent.metadata
  if (name === '' && generateName !== '') sent.metadata.name = `${generateName}abcde`
  const object = inOrder(sent, resource)
  strategyOf(resource.apiVersion, resource.kind).applyDefaults?.(object)
  return object
}

/** The rules of the kind, which stand between the plugins that change and those that only look. */
function judge(request: AdmissionRequest, object: KubeObject): KubeObject {
  const { resource, subresource, user, old } = request
  if (object.kind !== resource.kind) return object
  const strategy = strategyOf(resource.apiVersion, resource.kind)
  const context = { nowMs: systemClock.nowMs(), user, subresource }
  if (old === undefined) strategy.prepareForCreate?.(object, context)
  else if (subresource === 'status') strategy.prepareForStatusUpdate?.(object, old, context)
  else strategy.prepareForUpdate?.(object, old, context)
  const ready = inOrder(object, resource)
  const errors =
    old === undefined
      ? strategy.validate?.(ready)
      : subresource === 'status'
        ? strategy.validateStatusUpdate?.(ready, old)
        : strategy.validateUpdate?.(ready, old, context)
  if (errors !== undefined && errors.length > 0) throw invalid(resource.groupKind, request.name, errors)
  return ready
}

/** A refusal as its Status; else what admission decides about: not addresses, times and numbers of the server. */
async function outcomeOf(action: () => Promise<KubeObject>): Promise<unknown> {
  try {
    const object = await action()
    if (object.metadata?.name === undefined || object.kind === undefined) return 'done'
    return JSON.parse(withoutDraws(JSON.stringify(decided(object)))) as unknown
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return JSON.parse(withoutDraws(JSON.stringify(error.status))) as unknown
  }
}

function decided({ kind, metadata = {}, spec, ...rest }: KubeObject): unknown {
  const { labels, annotations, finalizers, ownerReferences } = metadata
  const kept = Object.entries(spec ?? {}).filter(([name]) => !allocatedFields.includes(name))
  const qosClass = (rest['status'] as Record<string, unknown> | undefined)?.['qosClass']
  return {
    kind,
    labels,
    annotations,
    finalizers,
    ownerReferences,
    spec: Object.fromEntries(kept),
    qosClass,
    rules: rest['rules'],
  }
}

function withoutDraws(text: string): string {
  return text.replaceAll(/(kube-api-access-|base-)[a-z0-9]{5}\b/g, '$1xxxxx')
}

async function makeSigningRequests(): Promise<SigningRequests> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const request = async (name: string, ...groups: string[]): Promise<string> =>
    Buffer.from(await createRequest({ subject: userName(name, groups) }, privateKey)).toString('base64')
  return {
    masters: await request('eve', 'system:masters'),
    ordinary: await request('ann', 'staff'),
    node: await request('system:node:n1', 'system:nodes'),
  }
}

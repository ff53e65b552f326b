import { describe, expect, it } from 'vitest'
import { admissionRequest, World } from '../../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import { finished } from '../../../runtime/steps.ts'
import { existingPodWarnings, MAX_PODS_TO_CHECK, POD_CHECK_MS } from './existing-pods.ts'
import { PodSecurity, type PodSecurityNote } from './pod-security.ts'
import { describeStandard, policyOf } from './policy.ts'

const prefix = 'pod-security.kubernetes.io/'

function labelled(modes: Record<string, string>): KubeObject {
  const labels = Object.fromEntries(Object.entries(modes).map(([mode, level]) => [`${prefix}${mode}`, level]))
  return { metadata: { name: 'work', labels } }
}

function pod(spec: object, name = 'p'): KubeObject {
  return { metadata: { name, namespace: 'work' }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } }
}

interface Outcome {
  readonly warnings: string[]
  readonly notes: PodSecurityNote[]
}

function validate(modes: Record<string, string>, question: Parameters<typeof admissionRequest>[0]): Outcome {
  const [warnings, notes]: [string[], PodSecurityNote[]] = [[], []]
  const world = new World().add('namespaces', labelled(modes))
  const plugin = new PodSecurity(world, new ManualClock(), (note) => notes.push(note))
  void plugin.validate(admissionRequest({ ...question, warn: (text) => warnings.push(text) }))
  return { warnings, notes }
}

const hostPod = pod({ hostNetwork: true })
const restrictedPod = pod({
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    { name: 'c', image: 'i', securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } },
  ],
})

describe('the policy of a namespace', () => {
  const told = (labels: KubeObject): Record<string, string> => {
    const { policy } = policyOf(labels.metadata?.labels ?? {})
    return Object.fromEntries(Object.entries(policy).map(([mode, standard]) => [mode, describeStandard(standard)]))
  }

  it('allows everything where nothing is said', () => {
    const everything = 'privileged:latest'
    expect(told({ metadata: {} })).toEqual({ enforce: everything, audit: everything, warn: everything })
  })

  it('warns like it enforces, unless said otherwise', () => {
    expect(told(labelled({ enforce: 'baseline', 'enforce-version': 'v1.30' }))['warn']).toBe('baseline:v1.30')
    expect(told(labelled({ enforce: 'baseline', 'warn-version': 'v1.1' }))['warn']).toBe('baseline:v1.1')
    expect(told(labelled({ enforce: 'restricted', warn: 'privileged' }))['warn']).toBe('privileged:latest')
  })

  it('becomes as strict as can be by a mistake, and warns of nothing', () => {
    const { policy, errors } = policyOf(
      labelled({ enforce: 'x', audit: 'y', warn: 'z', 'warn-version': '1' }).metadata?.labels ?? {},
    )
    expect(policy).toMatchObject({
      enforce: { level: 'restricted' },
      audit: { level: 'privileged' },
      warn: { level: 'privileged' },
    })
    expect(errors).toHaveLength(4)
  })
})

describe('a pod', () => {
  it('is refused with all that it does wrong', () => {
    expect(() => validate({ enforce: 'baseline' }, { resource: 'pods', object: hostPod })).toThrow(
      'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    )
    expect(() => validate({ enforce: 'restricted' }, { resource: 'pods', object: pod({}) })).toThrow(
      'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set ' +
        'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set ' +
        'securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set ' +
        'securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set ' +
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    )
  })

  it('passes when it keeps to the level', () => {
    expect(validate({ enforce: 'restricted' }, { resource: 'pods', object: restrictedPod }).warnings).toEqual([])
    validate({ enforce: 'baseline' }, { resource: 'pods', object: pod({}) })
    validate({}, { resource: 'pods', object: hostPod })
  })

  it('is only told of, or noted, where the other modes say so', () => {
    const { warnings, notes } = validate({ warn: 'baseline', audit: 'baseline' }, { resource: 'pods', object: hostPod })
    const text = 'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    expect(warnings).toEqual([text])
    expect(notes).toEqual([{ resource: 'pods', namespace: 'work', name: 'p', user: 'admin', violation: text }])
  })

  it('is looked at again only when an update brings other images or a further container', () => {
    const update = (object: KubeObject, subresource = ''): Outcome =>
      validate({ enforce: 'baseline' }, { resource: 'pods', operation: 'UPDATE', subresource, object, old: hostPod })
    update({ ...hostPod, metadata: { ...hostPod.metadata, labels: { a: 'b' } } })
    update(pod({ hostNetwork: true, containers: [{ name: 'c', image: 'other' }] }), 'status')
    expect(() => update(pod({ hostNetwork: true, containers: [{ name: 'c', image: 'other' }] }))).toThrow('violates')
    const debugged = pod({ hostNetwork: true, ephemeralContainers: [{ name: 'd', image: 'i' }] })
    expect(() => update(debugged, 'ephemeralcontainers')).toThrow('violates')
  })

  it('is judged by the rules of the release that is asked for', () => {
    const sysctl = pod({ securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } })
    validate({ enforce: 'baseline' }, { resource: 'pods', object: sysctl })
    expect(() =>
      validate({ enforce: 'baseline', 'enforce-version': 'v1.31' }, { resource: 'pods', object: sysctl }),
    ).toThrow('"baseline:v1.31": forbidden sysctls (net.ipv4.tcp_rmem)')
    const windows = pod({ os: { name: 'windows' }, securityContext: { runAsNonRoot: true } })
    validate({ enforce: 'restricted' }, { resource: 'pods', object: windows })
    expect(() =>
      validate({ enforce: 'restricted', 'enforce-version': 'v1.24' }, { resource: 'pods', object: windows }),
    ).toThrow('allowPrivilegeEscalation != false')
  })
})

describe('a controller', () => {
  it.each([
    ['apps/v1/deployments', { template: hostPod }],
    ['batch/v1/cronjobs', { jobTemplate: { spec: { template: hostPod } } }],
  ])('of %s may exist, with a warning', (resource, spec) => {
    const object = { metadata: { name: 'd', namespace: 'work' }, spec }
    const { warnings } = validate({ enforce: 'baseline' }, { resource, object })
    expect(warnings).toEqual(['would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'])
  })
})

describe('a namespace', () => {
  it('is refused with labels that mean nothing, unless they were there before', () => {
    const object = labelled({ enforce: 'strict' })
    expect(() => validate({}, { resource: 'namespaces', object })).toThrow(
      'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
    )
    validate({}, { resource: 'namespaces', operation: 'UPDATE', object, old: object })
  })

  it('that becomes stricter names the pods that would not be let in', () => {
    const world = new World().add('namespaces', labelled({}))
    for (const name of ['b', 'a', 'c']) world.add('pods', pod({ hostPID: true }, name))
    world.add(
      'pods',
      pod({}, 'fine'),
      pod({ hostIPC: true, containers: [{ name: 'x', image: 'i', securityContext: { privileged: true } }] }, 'worse'),
    )
    const warnings: string[] = []
    const change = (from: Record<string, string>, to: Record<string, string>): string[] => {
      warnings.length = 0
      const question = {
        resource: 'namespaces',
        operation: 'UPDATE',
        object: labelled(to),
        old: labelled(from),
      } as const
      void new PodSecurity(world, new ManualClock()).validate(
        admissionRequest({ ...question, warn: (text) => warnings.push(text) }),
      )
      return [...warnings]
    }
    expect(change({}, { enforce: 'baseline' })).toEqual([
      'existing pods in namespace "work" violate the new PodSecurity enforce level "baseline:latest"',
      'a (and 2 other pods): host namespaces',
      'worse: host namespaces, privileged',
    ])
    expect(change({ enforce: 'restricted' }, { enforce: 'baseline' })).toEqual([])
    expect(change({ enforce: 'baseline' }, { enforce: 'baseline', warn: 'restricted' })).toEqual([])
  })

  describe('and has very many', () => {
    const warningsOf = (count: number, clock = new ManualClock()): string[] => {
      const objects = Array.from({ length: count }, (_, index) => pod({ hostPID: true }, `p${index}`))
      const unread = objects.map((object) => ({ metadata: () => object.metadata ?? {}, object: () => object }))
      return finished(
        existingPodWarnings(
          'work',
          policyOf(labelled({ enforce: 'baseline' }).metadata?.labels ?? {}).policy.enforce,
          unread,
          clock,
        ),
      )
    }

    it('is held against some of them, and says so', () => {
      expect(warningsOf(MAX_PODS_TO_CHECK + 1)).toEqual([
        `new PodSecurity enforce level only checked against the first ${MAX_PODS_TO_CHECK} of ${MAX_PODS_TO_CHECK + 1} existing pods`,
        'existing pods in namespace "work" violate the new PodSecurity enforce level "baseline:latest"',
        `p0 (and ${MAX_PODS_TO_CHECK - 1} other pods): host namespaces`,
      ])
    })

    it('is held against as many as there is time for', () => {
      let nowMs = 0
      const clock = Object.assign(new ManualClock(), { monotonicMs: () => (nowMs += POD_CHECK_MS / 10) })
      expect(warningsOf(100, clock)[0]).toBe(
        'new PodSecurity enforce level only checked against the first 10 of 100 existing pods',
      )
    })
  })
})

/** Pods. */
import { formatTime } from '../../../kube/codec/time.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import { type FieldError, forbiddenField, invalidField } from '../../../kube/status/field-error.ts'
import { checkEach, checkImmutable, checkName } from '../checks.ts'
import { copyField, ensureStruct, type Fields, has, integer, struct, structs, text, textMap } from '../fields.ts'
import { dnsLabel, dnsSubdomain } from '../names.ts'
import type { KindRules } from '../rules.ts'
import { checkImageSpelling } from './containers.ts'
import { resolveMatchLabelKeys } from './match-label-keys.ts'
import { checkPodSpec } from './pod-spec.ts'
import {
  checkEphemeralContainersUpdate,
  checkResize,
  keepAllButEphemeralContainers,
  keepAllButResources,
} from './pod-subresources.ts'
import { checkAnnotationUpdate, checkPodUpdate, MIRROR_ANNOTATION } from './pod-update.ts'
import { qosClass } from './qos.ts'

export const POD_RULES: KindRules = {
  generationOf: ['spec'],
  checksMetadataAgain: true,
  prepareForCreate(pod, { nowMs }) {
    const spec = ensureStruct(pod, 'spec')
    const status: Fields = { phase: 'Pending', qosClass: qosClass(spec) }
    if (structs(spec, 'schedulingGates').length > 0) {
      status['conditions'] = [{ ...gatedCondition, lastTransitionTime: formatTime(Math.floor(nowMs / 1000)) }]
    }
    pod['status'] = status
    resolveMatchLabelKeys(pod)
  },
  prepareForUpdate(pod, old, { subresource }) {
    if (subresource === 'ephemeralcontainers') keepAllButEphemeralContainers(pod, old)
    else if (subresource === 'resize') keepAllButResources(pod, old)
  },
  prepareForStatusUpdate(pod, old) {
    copyField(ensureStruct(pod, 'metadata'), struct(old, 'metadata') ?? {}, 'ownerReferences')
    const status = ensureStruct(pod, 'status')
    if (text(status, 'qosClass') === '') copyField(status, struct(old, 'status') ?? {}, 'qosClass')
  },
  check: (pod) => [...checkPod(pod), ...checkOnCreate(pod)],
  checkUpdate(pod, old, { subresource }) {
    if (subresource === 'ephemeralcontainers') return [...checkPod(pod), ...checkEphemeralContainersUpdate(pod, old)]
    if (subresource === 'resize') return [...checkPod(pod), ...checkResize(pod, old)]
    return [...checkPod(pod), ...checkAnnotationUpdate(pod, old), ...checkMirror(pod), ...checkPodUpdate(pod, old)]
  },
  checkStatusUpdate(pod, old) {
    const [status, before] = [struct(pod, 'status'), struct(old, 'status')]
    return [
      ...checkEach(structs(status, 'conditions'), 'status.conditions', (condition, at) =>
        systemConditions.has(text(condition, 'type'))
          ? []
          : checkName(text(condition, 'type'), `${at}.Type`, labelKeyBreaches),
      ),
      ...checkImmutable(status?.['qosClass'], before?.['qosClass'], 'status.qosClass'),
    ]
  },
  warningsOnCreate: warnAboutName,
  defaultGracePeriodSeconds: gracePeriodSeconds,
}

const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized', 'ContainersReady'])

const gatedCondition = {
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
}

function checkPod(pod: Fields): FieldError[] {
  const spec = struct(pod, 'spec') ?? {}
  return [
    ...checkMirror(pod),
    ...checkPodSpec(spec, struct(pod, 'metadata') ?? {}, 'spec'),
    ...(text(spec, 'serviceAccountName') === '' ? checkNoTokens(spec) : []),
    ...checkEach(structs(spec, 'containers'), 'spec.containers', checkImageSpelling),
    ...checkEach(structs(spec, 'initContainers'), 'spec.initContainers', checkImageSpelling),
  ]
}

function checkMirror(pod: Fields): FieldError[] {
  const mirror = textMap(struct(pod, 'metadata'), 'annotations')[MIRROR_ANNOTATION]
  if (mirror === undefined || text(struct(pod, 'spec'), 'nodeName') !== '') return []
  const detail = 'must set spec.nodeName if mirror pod annotation is set'
  return [invalidField(`metadata.annotations[${MIRROR_ANNOTATION}]`, mirror, detail)]
}

function checkNoTokens(spec: Fields): FieldError[] {
  return checkEach(structs(spec, 'volumes'), 'spec.volumes', (volume, volumeAt) =>
    checkEach(structs(struct(volume, 'projected'), 'sources'), `${volumeAt}.projected.sources`, (source, at) =>
      has(source, 'serviceAccountToken')
        ? [forbiddenField(`${at}.serviceAccountToken`, 'must not be specified when serviceAccountName is not set')]
        : [],
    ),
  )
}

function checkOnCreate(pod: Fields): FieldError[] {
  const spec = struct(pod, 'spec')
  const errors: FieldError[] = []
  if (structs(spec, 'ephemeralContainers').length > 0) {
    errors.push(forbiddenField('spec.ephemeralContainers', 'cannot be set on create'))
  }
  if (text(spec, 'nodeName') !== '' && structs(spec, 'schedulingGates').length > 0) {
    errors.push(forbiddenField('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'))
  }
  return errors
}

function warnAboutName(pod: KubeObject): string[] {
  const breaches = checkName(text(struct(pod, 'metadata'), 'name'), '', dnsLabel)
  if (breaches.length === 0 || dnsSubdomain(text(struct(pod, 'metadata'), 'name')).length > 0) return []
  const advice =
    "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
  return [`metadata.name: ${advice}: [${breaches.map(({ detail }) => detail).join(' ')}]`]
}

/** A pod that runs nowhere, or no longer, goes at once. */
function gracePeriodSeconds(pod: KubeObject): number {
  const [spec, phase] = [struct(pod, 'spec'), text(struct(pod, 'status'), 'phase')]
  if (text(spec, 'nodeName') === '' || phase === 'Failed' || phase === 'Succeeded') return 0
  const seconds = integer(spec, 'terminationGracePeriodSeconds') ?? 0
  return seconds < 0 ? 1 : seconds
}

/** Jobs. */
import { type FieldError, invalidField, notSupportedField, requiredField } from '../../../kube/status/field-error.ts'
import { checkImmutable, checkNotNegative, checkSupported } from '../checks.ts'
import { sameValue } from '../equality.ts'
import { copyField, ensureStruct, type Fields, flag, has, integer, struct, text, textMap } from '../fields.ts'
import { checkLabelSelector, selectorMatches } from '../label-selector.ts'
import { dnsLabel } from '../names.ts'
import { checkPodTemplate } from '../pods/pod-template.ts'
import type { KindRules } from '../rules.ts'
import { checkPodFailurePolicy } from './pod-failure-policy.ts'

/** One index is one pod name; more at once would overwhelm the status. */
const MAX_INDEXED_PARALLELISM = 100_000

const uidLabels = ['controller-uid', 'batch.kubernetes.io/controller-uid']
const nameLabels = ['job-name', 'batch.kubernetes.io/job-name']
const counters = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
]
const immutableFields = ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy']
/** What may still change in the template of a job that has not started. */
const schedulingFields = ['nodeSelector', 'tolerations', 'schedulingGates', 'affinity']

export const JOB_RULES: KindRules = {
  generationOf: ['spec'],
  checksMetadataAgain: true,
  prepareForCreate: labelPods,
  check: checkJob,
  checkUpdate: (job, old) => [...checkJob(job), ...checkJobUpdate(job, old)],
  checkStatusUpdate: (job) =>
    ['active', 'succeeded', 'failed', 'ready', 'terminating'].flatMap((name) =>
      checkNotNegative(integer(struct(job, 'status'), name), `status.${name}`),
    ),
}

function checkJob(job: Fields): FieldError[] {
  const spec = struct(job, 'spec') ?? {}
  return [
    ...checkGeneratedSelector(job),
    ...checkJobSpec(spec, 'spec'),
    ...checkSelector(spec, 'spec'),
    ...checkIndexedName(job),
  ]
}

/** The pods of a job are told apart from all others by the uid of the job; a job without labels takes those of its pods. */
function labelPods(job: Fields): void {
  const spec = ensureStruct(job, 'spec')
  if (flag(spec, 'manualSelector')) return
  const [name, uid] = [text(struct(job, 'metadata'), 'name'), text(struct(job, 'metadata'), 'uid')]
  const labels = ensureStruct(ensureStruct(ensureStruct(spec, 'template'), 'metadata'), 'labels')
  const hasNoOther = sameValue(struct(job, 'metadata')?.['labels'], labels)
  for (const label of nameLabels) labels[label] ??= name
  for (const label of uidLabels) labels[label] ??= uid
  const matchLabels = ensureStruct(ensureStruct(spec, 'selector'), 'matchLabels')
  matchLabels['batch.kubernetes.io/controller-uid'] ??= uid
  if (hasNoOther) ensureStruct(job, 'metadata')['labels'] = { ...labels }
}

function checkGeneratedSelector(job: Fields): FieldError[] {
  const spec = struct(job, 'spec')
  if (flag(spec, 'manualSelector') || !has(spec, 'selector')) return []
  const [name, uid] = [text(struct(job, 'metadata'), 'name'), text(struct(job, 'metadata'), 'uid')]
  const labels = textMap(struct(struct(spec, 'template'), 'metadata'), 'labels')
  const expected = {
    'controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
  }
  const errors = Object.entries(expected).flatMap(([label, value]) => {
    const at = `spec.template.metadata.labels[${label}]`
    if (labels[label] === undefined) return [requiredField(at, `must be '${value}'`)]
    return labels[label] === value ? [] : [invalidField(at, labels, `must be '${value}'`)]
  })
  if (!selectorMatches(struct(spec, 'selector'), expected)) {
    errors.push(invalidField('spec.selector', spec?.['selector'], '`selector` not auto-generated'))
  }
  return errors
}

/** The spec of a Job or of the template in a CronJob, without the selector. */
export function checkJobSpec(spec: Fields, path: string): FieldError[] {
  const template = struct(spec, 'template') ?? {}
  return [
    ...counters.flatMap((name) => checkNotNegative(integer(spec, name), `${path}.${name}`)),
    ...(has(spec, 'maxFailedIndexes') && !has(spec, 'backoffLimitPerIndex')
      ? [requiredField(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified')]
      : []),
    ...checkCompletionMode(spec, path),
    ...checkPodFailurePolicy(spec, `${path}.podFailurePolicy`),
    ...checkReplacement(spec, `${path}.podReplacementPolicy`),
    ...checkPodTemplate(template, `${path}.template`),
    ...checkRestartPolicy(spec, text(struct(template, 'spec'), 'restartPolicy'), `${path}.template.spec.restartPolicy`),
  ]
}

function checkCompletionMode(spec: Fields, path: string): FieldError[] {
  const mode = text(spec, 'completionMode')
  if (mode === 'Indexed') {
    const parallelism = integer(spec, 'parallelism') ?? 0
    const detail = `must be less than or equal to ${MAX_INDEXED_PARALLELISM} when completion mode is Indexed`
    return [
      ...(has(spec, 'completions') ? [] : [requiredField(`${path}.completions`, 'when completion mode is Indexed')]),
      ...(parallelism > MAX_INDEXED_PARALLELISM ? [invalidField(`${path}.parallelism`, parallelism, detail)] : []),
    ]
  }
  if (has(spec, 'completionMode') && mode !== 'NonIndexed') {
    return [notSupportedField(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed'])]
  }
  return ['backoffLimitPerIndex', 'maxFailedIndexes', 'successPolicy'].flatMap((name) =>
    has(spec, name) ? [invalidField(`${path}.${name}`, spec[name], 'requires indexed completion mode')] : [],
  )
}

function checkReplacement(spec: Fields, path: string): FieldError[] {
  if (!has(spec, 'podReplacementPolicy')) return []
  const supported = has(spec, 'podFailurePolicy') ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
  return checkSupported(text(spec, 'podReplacementPolicy'), path, supported)
}

function checkRestartPolicy(spec: Fields, policy: string, path: string): FieldError[] {
  if (policy === '' || policy === 'Always') return [requiredField(path, 'valid values: "OnFailure", "Never"')]
  if (policy !== 'OnFailure' && policy !== 'Never') return [notSupportedField(path, policy, ['OnFailure', 'Never'])]
  return has(spec, 'podFailurePolicy') && policy !== 'Never'
    ? [invalidField(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : []
}

function checkSelector(spec: Fields, path: string): FieldError[] {
  const selector = struct(spec, 'selector')
  const labels = struct(struct(spec, 'template'), 'metadata')
  const errors =
    selector === undefined ? [requiredField(`${path}.selector`)] : checkLabelSelector(selector, `${path}.selector`)
  if (selector !== undefined && errors.length > 0) return errors
  if (!selectorMatches(selector, textMap(labels, 'labels'))) {
    const detail = '`selector` does not match template `labels`'
    errors.push(invalidField(`${path}.template.metadata.labels`, labels?.['labels'] ?? null, detail))
  }
  return errors
}

function checkIndexedName(job: Fields): FieldError[] {
  const [spec, name] = [struct(job, 'spec'), text(struct(job, 'metadata'), 'name')]
  const completions = integer(spec, 'completions') ?? 0
  const lastHostname = `${name}-${completions - 1}`
  if (text(spec, 'completionMode') !== 'Indexed' || completions <= 0 || dnsLabel(lastHostname).length === 0) return []
  const detail = `will not able to create pod with invalid DNS label: ${lastHostname}`
  return [invalidField('metadata.name', name, detail)]
}

function checkJobUpdate(job: Fields, oldJob: Fields): FieldError[] {
  const [spec, old] = [struct(job, 'spec') ?? {}, struct(oldJob, 'spec') ?? {}]
  return [
    ...checkJobSpec(spec, 'spec'),
    ...checkSelector(spec, 'spec'),
    ...checkCompletions(spec, old),
    ...checkImmutable(spec['selector'], old['selector'], 'spec.selector'),
    ...checkTemplateUpdate(spec, old, oldJob),
    ...immutableFields.flatMap((name) => checkImmutable(spec[name], old[name], `spec.${name}`)),
  ]
}

/** Indexed jobs may grow and shrink, with all their pods at once. */
function checkCompletions(spec: Fields, old: Fields): FieldError[] {
  const [completions, at] = [spec['completions'], 'spec.completions']
  if (text(spec, 'completionMode') !== 'Indexed') return checkImmutable(completions, old['completions'], at)
  if (completions === undefined || completions === old['completions'] || completions === spec['parallelism']) return []
  return [invalidField(at, completions, `can only be modified in tandem with spec.parallelism`)]
}

function checkTemplateUpdate(spec: Fields, old: Fields, oldJob: Fields): FieldError[] {
  const [template, before] = [struct(spec, 'template') ?? {}, structuredClone(struct(old, 'template') ?? {})]
  const notStarted = flag(old, 'suspend') && !has(struct(oldJob, 'status'), 'startTime')
  if (notStarted) {
    for (const name of schedulingFields) copyField(ensureStruct(before, 'spec'), struct(template, 'spec') ?? {}, name)
    for (const name of ['labels', 'annotations']) {
      copyField(ensureStruct(before, 'metadata'), struct(template, 'metadata') ?? {}, name)
    }
  }
  return checkImmutable(template, before, 'spec.template')
}

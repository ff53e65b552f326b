/** CronJobs. */
import { type FieldError, invalidField, notSupportedField, requiredField } from '../../../kube/status/field-error.ts'
import { checkNotNegative, checkRequiredSupported } from '../checks.ts'
import { type Fields, flag, has, integer, struct, text } from '../fields.ts'
import type { KindRules } from '../rules.ts'
import { scheduleBreach } from './cron-schedule.ts'
import { checkJobSpec } from './job.ts'

/** The name of a Job is that of its CronJob, a dash and ten digits. */
const MAX_CRON_JOB_NAME_LENGTH = 52

export const CRON_JOB_RULES: KindRules = {
  generationOf: ['spec'],
  check: (cronJob) => [...checkCronJobSpec(struct(cronJob, 'spec') ?? {}, undefined), ...checkNameLength(cronJob)],
  checkUpdate: (cronJob, old) => checkCronJobSpec(struct(cronJob, 'spec') ?? {}, struct(old, 'spec')),
}

function checkNameLength(cronJob: Fields): FieldError[] {
  const name = text(struct(cronJob, 'metadata'), 'name')
  return name.length > MAX_CRON_JOB_NAME_LENGTH
    ? [invalidField('metadata.name', name, `must be no more than ${MAX_CRON_JOB_NAME_LENGTH} characters`)]
    : []
}

function checkCronJobSpec(spec: Fields, old: Fields | undefined): FieldError[] {
  const zoneChanged = old === undefined || old['timeZone'] !== spec['timeZone']
  return [
    ...checkSchedule(spec, text(old, 'schedule').includes('TZ')),
    ...checkNotNegative(integer(spec, 'startingDeadlineSeconds'), 'spec.startingDeadlineSeconds'),
    ...(zoneChanged && has(spec, 'timeZone') ? checkTimeZone(text(spec, 'timeZone'), 'spec.timeZone') : []),
    ...checkRequiredSupported(text(spec, 'concurrencyPolicy'), 'spec.concurrencyPolicy', [
      'Allow',
      'Forbid',
      'Replace',
    ]),
    ...checkJobTemplate(struct(struct(spec, 'jobTemplate'), 'spec') ?? {}, 'spec.jobTemplate.spec'),
    ...['successfulJobsHistoryLimit', 'failedJobsHistoryLimit'].flatMap((name) =>
      checkNotNegative(integer(spec, name), `spec.${name}`),
    ),
  ]
}

/** A time zone inside the schedule is only left where it already was. */
function checkSchedule(spec: Fields, zoneWasInSchedule: boolean): FieldError[] {
  const schedule = text(spec, 'schedule')
  if (schedule === '') return [requiredField('spec.schedule')]
  const breach = scheduleBreach(schedule)
  const errors = breach === undefined ? [] : [invalidField('spec.schedule', schedule, breach)]
  if (!schedule.includes('TZ')) return errors
  if (!zoneWasInSchedule) {
    const detail = 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'
    errors.push(invalidField('spec.schedule', schedule, detail))
  } else if (has(spec, 'timeZone')) {
    const detail = 'cannot use both timeZone field and TZ or CRON_TZ in schedule'
    errors.push(invalidField('spec.schedule', schedule, detail))
  }
  return errors
}

function checkTimeZone(zone: string, path: string): FieldError[] {
  if (zone === '') return [invalidField(path, zone, 'timeZone must be nil or non-empty string')]
  const detail = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'
  const errors = zone.toLowerCase() === 'local' ? [invalidField(path, zone, detail)] : []
  return isTimeZone(zone) ? errors : [...errors, invalidField(path, zone, `unknown time zone ${zone}`)]
}

function isTimeZone(zone: string): boolean {
  if (zone === 'Local') return true
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions()
    return timeZone !== '' && !/^[+-]/.test(zone)
  } catch {
    return false
  }
}

/** The selector of each job is made with the job. */
function checkJobTemplate(spec: Fields, path: string): FieldError[] {
  const errors = checkJobSpec(spec, path)
  if (has(spec, 'selector')) {
    errors.push(invalidField(`${path}.selector`, spec['selector'], '`selector` will be auto-generated'))
  }
  if (flag(spec, 'manualSelector')) errors.push(notSupportedField(`${path}.manualSelector`, true, ['nil', 'false']))
  return errors
}

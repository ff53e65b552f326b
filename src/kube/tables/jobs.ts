/** Jobs and what starts them. */
import type { KubeObject } from '../objects.ts'
import { containerColumns, labelSelectorColumn, NONE, textColumn, UNSET } from './common-cells.ts'
import { humanAge, humanDuration } from './human-duration.ts'
import { AGE_COLUMN, type Cell, column, layout, NAME_COLUMN, type TableLayout } from './layout.ts'
import { at, hasTrueCondition, integerAt, listAt, optionalTextAt, timeMsAt } from './paths.ts'

const job = layout([
  NAME_COLUMN,
  column('Status', 'How far it has come.', jobStatus),
  column('Completions', 'Pods that succeeded, of those wanted.', completions),
  column('Duration', 'Time from start to end, or until now.', jobDuration),
  AGE_COLUMN,
  ...containerColumns('spec', 'template'),
  labelSelectorColumn('spec', 'selector'),
])

/** The first condition of these that holds; a deletion ranks below an end and above the rest. */
function jobStatus(object: KubeObject): Cell {
  for (const type of ['Complete', 'Failed']) if (hasTrueCondition(object, type)) return type
  if (at(object, 'metadata', 'deletionTimestamp') !== undefined) return 'Terminating'
  for (const type of ['Suspended', 'FailureTarget', 'SuccessCriteriaMet']) {
    if (hasTrueCondition(object, type)) return type
  }
  return 'Running'
}

function completions(object: KubeObject): Cell {
  const succeeded = integerAt(object, 'status', 'succeeded')
  if (at(object, 'spec', 'completions') !== undefined) {
    return `${succeeded}/${integerAt(object, 'spec', 'completions')}`
  }
  const parallelism = integerAt(object, 'spec', 'parallelism')
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function jobDuration(object: KubeObject, nowMs: number): Cell {
  const startMs = timeMsAt(object, 'status', 'startTime')
  if (startMs === undefined) return ''
  return humanDuration((timeMsAt(object, 'status', 'completionTime') ?? nowMs) - startMs)
}

const cronJob = layout([
  NAME_COLUMN,
  textColumn('Schedule', 'When it starts jobs, as cron writes it.', ['spec', 'schedule']),
  column('Timezone', 'Time zone of the schedule.', (object) => optionalTextAt(object, 'spec', 'timeZone') ?? NONE),
  column('Suspend', 'Whether it starts no jobs.', suspended, 'boolean'),
  column('Active', 'Jobs that run now.', (object) => listAt(object, 'status', 'active').length, 'integer'),
  column('Last Schedule', 'Time since it last started a job.', lastSchedule),
  AGE_COLUMN,
  ...containerColumns('spec', 'jobTemplate', 'spec', 'template'),
  labelSelectorColumn('spec', 'jobTemplate', 'spec', 'selector'),
])

function suspended(object: KubeObject): Cell {
  const suspend = at(object, 'spec', 'suspend')
  if (suspend === undefined) return UNSET
  return suspend === true ? 'True' : 'False'
}

function lastSchedule(object: KubeObject, nowMs: number): Cell {
  const lastMs = timeMsAt(object, 'status', 'lastScheduleTime')
  return lastMs === undefined ? NONE : humanAge(lastMs, nowMs)
}

export const JOB_LAYOUTS: Readonly<Record<string, TableLayout>> = { 'Job.batch': job, 'CronJob.batch': cronJob }

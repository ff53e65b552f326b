/** The options of `pods/log` that make no sense. */

import { integerParameter } from '../../../kube/collection/query-values.ts'
import type { RequestQuery } from '../../../kube/request-query.ts'
import { type FieldError, forbiddenField, invalidField } from '../../../kube/status/field-error.ts'
import { invalid } from '../../../kube/status/resource-errors.ts'
import { NOT_NEGATIVE } from '../../kinds/checks.ts'

/** API servers spell the number in refusals of log options, and write `zero` elsewhere. */
const positive = 'must be greater than 0'

export function checkLogOptions(query: RequestQuery, podName: string): void {
  const errors: FieldError[] = []
  const [tailLines, limitBytes, sinceSeconds] = ['tailLines', 'limitBytes', 'sinceSeconds'].map((name) =>
    integerParameter(query, name),
  )
  if (tailLines !== undefined && tailLines < 0) errors.push(invalidField('tailLines', tailLines, NOT_NEGATIVE))
  if (limitBytes !== undefined && limitBytes < 1) errors.push(invalidField('limitBytes', limitBytes, positive))
  if (sinceSeconds !== undefined && query.has('sinceTime')) {
    errors.push(forbiddenField('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalidField('sinceSeconds', sinceSeconds, positive))
  }
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, errors)
}

/** The options of `pods/log` that make no sense. */
import { type FieldError, forbiddenField, invalid, invalidField } from '../../../kube/status/index.ts'
import { NOT_NEGATIVE } from '../../kinds/checks.ts'

/** Here the API server spells the number, elsewhere it writes `zero`. */
const positive = 'must be greater than 0'

export function checkLogOptions(query: URLSearchParams, podName: string): void {
  const number = (name: string): number | undefined => {
    const value = query.get(name)
    return value === null || value === '' ? undefined : Number(value)
  }
  const errors: FieldError[] = []
  const [tailLines, limitBytes, sinceSeconds] = [number('tailLines'), number('limitBytes'), number('sinceSeconds')]
  if (tailLines !== undefined && tailLines < 0) errors.push(invalidField('tailLines', tailLines, NOT_NEGATIVE))
  if (limitBytes !== undefined && limitBytes < 1) errors.push(invalidField('limitBytes', limitBytes, positive))
  if (sinceSeconds !== undefined && query.has('sinceTime')) {
    errors.push(forbiddenField('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalidField('sinceSeconds', sinceSeconds, positive))
  }
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, errors)
}

/** Pod templates, as controllers of all kinds carry them. */
import { type FieldError, forbiddenField, invalidField, notSupportedField } from '../../../kube/status/field-error.ts'
import { type Fields, has, struct, structs, text, textMap } from '../fields.ts'
import { isEmptySelector, selectorMatches } from '../label-selector.ts'
import { checkAnnotations, checkLabels } from '../metadata.ts'
import type { KindRules } from '../rules.ts'
import { checkPodSpec } from './pod-spec.ts'

export const POD_TEMPLATE_RULES: KindRules = {
  generationOf: ['template'],
  check: (object) => checkPodTemplate(struct(object, 'template') ?? {}, 'template'),
}

export function checkPodTemplate(template: Fields, path: string): FieldError[] {
  const metadata = struct(template, 'metadata')
  const spec = struct(template, 'spec') ?? {}
  const detail = 'ephemeral containers not allowed in pod template'
  return [
    ...checkLabels(textMap(metadata, 'labels'), `${path}.labels`),
    ...checkAnnotations(textMap(metadata, 'annotations'), `${path}.annotations`),
    ...checkPodSpec(spec, undefined, `${path}.spec`),
    ...(structs(spec, 'ephemeralContainers').length > 0
      ? [forbiddenField(`${path}.spec.ephemeralContainers`, detail)]
      : []),
  ]
}

/**
 * The template of a controller that keeps its pods running: they must restart. `controllerKind` is how the API server
 * calls the controller in its refusal.
 */
export function checkRunningTemplate(template: Fields, path: string, controllerKind: string): FieldError[] {
  const spec = struct(template, 'spec') ?? {}
  const errors = checkPodTemplate(template, path)
  const policy = text(spec, 'restartPolicy')
  if (policy !== 'Always') errors.push(notSupportedField(`${path}.spec.restartPolicy`, policy, ['Always']))
  if (has(spec, 'activeDeadlineSeconds')) {
    const detail = `activeDeadlineSeconds in ${controllerKind} is not Supported`
    errors.push(forbiddenField(`${path}.spec.activeDeadlineSeconds`, detail))
  }
  return errors
}

/** A selector must choose the pods of its own template. An empty one chooses all, an absent one none. */
export function checkSelectorMatches(template: Fields, selector: Fields | undefined, path: string): FieldError[] {
  const metadata = struct(template, 'metadata')
  const isEmpty = selector !== undefined && isEmptySelector(selector)
  if (isEmpty || selectorMatches(selector, textMap(metadata, 'labels'))) return []
  const detail = '`selector` does not match template `labels`'
  return [invalidField(`${path}.metadata.labels`, metadata?.['labels'] ?? null, detail)]
}

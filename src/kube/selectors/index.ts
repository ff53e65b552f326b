/** Label and field selectors. */
export * from './field.ts'
export * from './label.ts'
export type { LabelOperator, LabelRequirement, Labels } from './label-requirement.ts'
export { labelRequirement } from './label-requirement.ts'
export { MAX_SELECTOR_LENGTH, MAX_SELECTOR_REQUIREMENTS, MAX_SELECTOR_VALUES } from './limits.ts'
export {
  labelKeyBreaches,
  labelValueBreaches,
  MAX_LABEL_NAME_LENGTH,
  MAX_LABEL_PREFIX_LENGTH,
  MAX_LABEL_VALUE_LENGTH,
} from './names.ts'

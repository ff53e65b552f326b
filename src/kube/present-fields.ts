/**
 * Objects for the wire, in which a key that is there says something: what is undefined must leave no key behind. For options
 * between our own parts an undefined value is enough.
 */
export function presentFields<const T extends object>(fields: T): PresentFields<T> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as PresentFields<T>
}

export type PresentFields<T> = {
  [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key]
} & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>
}

/** An object without what is undefined or null, for what was read from JSON, where a null says as little as a key that is missing. */
export function filledFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}

/** A rule of a level, and in which releases it holds. */
import type { Breach, Subject } from './subject.ts'

export interface Rule {
  readonly id: string
  /** The minor number of the first release with it; all have it where absent. */
  readonly since?: number
  /** The minor number of the first release without it. */
  readonly until?: number
  /** Rules of the lower level that this one makes superfluous. */
  readonly replaces?: string
  /** Whether root in a pod with a user namespace of its own is nobody outside of it, and may pass. */
  readonly sparesUserNamespaces?: boolean
  /** The first release that asks it only of pods that do not run on Windows. */
  readonly sparesWindowsSince?: number
  readonly check: (subject: Subject, minor: number) => Breach | undefined
}

export function holdsIn({ since = 0, until }: Rule, minor: number): boolean {
  return minor >= since && (until === undefined || minor < until)
}

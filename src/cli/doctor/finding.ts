/** What a check of `causeway doctor` finds, and what it may look at. Checks read only through these, and change nothing. */
import type { Certificate } from '../../identity/certificate.ts'

export type FindingState = 'ok' | 'warn' | 'fail'

export interface Finding {
  readonly state: FindingState
  readonly message: string
  /** What to do about it; absent where all is well. */
  readonly advice?: string
  /** Whether this is no folder of an edge at all: whatever the other checks said of it would mislead. */
  readonly isWrongFolder?: true
}

export const ok = (message: string): Finding => ({ state: 'ok', message })
export const warn = (message: string, advice: string): Finding => ({ state: 'warn', message, advice })
export const fail = (message: string, advice: string): Finding => ({ state: 'fail', message, advice })

export const wrongFolder = (message: string, advice: string): Finding => ({
  ...fail(message, advice),
  isWrongFolder: true,
})

/** Whether this user lacks the rights: that says nothing about the edge, so checks pass it on and count as not made. */
export function isForbidden(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    const { code } = each as NodeJS.ErrnoException
    if (code === 'EACCES' || code === 'EPERM') return true
  }
  return false
}

/** For a `catch`: undefined in place of what does not matter here. */
export function unlessForbidden(error: unknown): undefined {
  if (isForbidden(error)) throw error
  return undefined
}

/** Why a tool of the machine could not tell anything. */
export type ToolFailure = 'missing' | 'not-permitted' | 'failed'

export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly failure: ToolFailure

  constructor(failure: ToolFailure, message: string) {
    super(message)
    this.failure = failure
  }
}

export interface VersionAnswer {
  readonly code: number
  /** The message of the Status, where the answer is one. */
  readonly message?: string
}

export interface DoctorReaders {
  readonly dataDir: string
  readonly nowMs: () => number
  /** Mode of a file by its path in the data folder, with its kind; `undefined` if there is none. */
  readonly modeOf: (name: string) => Promise<number | undefined>
  /** Bytes of a file in the data folder; `undefined` if there is none. Rejects with a reason for people. */
  readonly read: (name: string) => Promise<Buffer | undefined>
  /** What the running process tells; rejects with a reason for people. The same promise every time. */
  readonly status: () => Promise<unknown>
  /** What the running process tells, asked anew at every call; rejects with a reason for people. */
  readonly statusNow: () => Promise<unknown>
  /** By the clock of a hub; `undefined` if it tells none. Rejects with a reason for people. */
  readonly hubTimeMs: (hubs: readonly string[]) => Promise<number | undefined>
  readonly ownAddresses: () => readonly string[]
  readonly hasInterface: (name: string) => boolean
  /** Whatever certificate is presented there, believed or not. */
  readonly presentedCertificate: (host: string, port: number) => Promise<Certificate>
  /** What is answered there to a GET of /version that carries no credential, by whomever; rejects if nothing is. */
  readonly versionAnswer: (host: string, port: number) => Promise<VersionAnswer>
  /** What it prints; rejects with a `ToolError`. */
  readonly runTool: (program: string, args: readonly string[]) => Promise<string>
}

export interface Check {
  readonly name: string
  readonly run: (readers: DoctorReaders) => Promise<Finding>
}

/**
 * Everything a command touches outside its arguments. Commands take it as a value, so that tests run them in-process.
 */
import type { EventEmitter } from 'node:events'
import type { Clock } from '../runtime/clock.ts'

interface TextOutput {
  /** `done` hears once the text is written, or why it cannot be. */
  write(text: string, done?: (error?: Error | null) => void): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workingDir: string
  readonly stdout: TextOutput
  readonly stderr: TextOutput
  readonly clock: Clock
  /** Emits `SIGTERM`, `SIGINT` and `SIGHUP`. */
  readonly signals: Pick<EventEmitter, 'on' | 'off'>
  /** Ends the process at once. */
  readonly exit: (code: number) => void
  /** Hears once a role serves. */
  readonly onReady?: () => void
}

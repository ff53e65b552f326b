/**
 * The logger: pino, one line of JSON per event, or a compact line on a terminal. Every line passes both nets of
 * `redaction.ts`, so a caller can log an object without first asking what is inside.
 *
 * Convention: fields first, then a lower-case sentence without values: `logger.info({ node }, 'session opened')`.
 */
import { pino } from 'pino'
import type { Clock } from '../runtime/clock.ts'
import { formatLogLine } from './log-line.ts'
import { redactFields, scrubText } from './redaction.ts'

/** From the most talkative to the most silent. There is no way to silence `fatal`: a process never ends without a word. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

export interface Logger extends Pick<pino.BaseLogger, LogLevel> {
  /** A logger that adds `fields` to every line. */
  child(fields: Record<string, unknown>): Logger
}

export interface LoggerOptions {
  readonly level: LogLevel
  /** `human` is for terminals only: nobody should have to parse it. */
  readonly format: 'json' | 'human'
  /** Colours in the human format. */
  readonly color?: boolean
  readonly destination: { write(line: string): unknown }
  readonly clock: Clock
}

export function createLogger(options: LoggerOptions): Logger {
  const { destination, clock, color = false } = options
  const stream =
    options.format === 'json'
      ? { write: (line: string) => void destination.write(line) }
      : { write: (line: string) => void destination.write(formatLogLine(line, color)) }
  const root = pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.nowMs()).toISOString()}"`,
      formatters: {
        level: (label) => ({ level: label }),
        log: redactFields,
      },
      // Errors are already plain data when they get here.
      serializers: { err: (plain: unknown) => plain },
      hooks: { streamWrite: scrubText },
    },
    stream,
  )
  return narrowed(root)
}

/** What the rest of the program sees of pino. Its own `child` would let fields past `redactFields`. */
function narrowed(logger: pino.Logger): Logger {
  return {
    trace: logger.trace.bind(logger),
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    fatal: logger.fatal.bind(logger),
    child: (fields) => narrowed(logger.child(redactFields(fields))),
  }
}

/** The logger of one part of the program. Components are named after folders and files: `hub`, `edge/feeds`, `health`. */
export function componentLogger(logger: Logger, component: string): Logger {
  return logger.child({ component })
}

/**
 * Turns one JSON log line into one line for human eyes. Used only when logs go to a terminal; everything else gets JSON.
 */

/** ANSI colour codes. Which terminals want them is decided by the caller. */
const COLORS = { red: 31, green: 32, yellow: 33, cyan: 36, gray: 90 } as const
type Color = keyof typeof COLORS

const LEVEL_COLORS: Readonly<Record<string, Color>> = {
  trace: 'gray',
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
}

const LEVEL_WIDTH = 5

/** `12:30:01.250 INFO  health  listening  address=127.0.0.1:10551`, with an error's stack on the lines below. */
export function formatLogLine(json: string, color: boolean): string {
  const entry = parseEntry(json)
  if (entry === undefined) return json
  const { time, level, component, msg, err, ...rest } = entry
  const head = [timeOfDay(time), levelLabel(level, color)]
  if (component !== undefined) head.push(paint('cyan', plain(component), color))
  if (msg !== undefined) head.push(plain(msg))
  for (const [name, value] of Object.entries(rest)) head.push(paint('gray', `${name}=${compact(value)}`, color))
  return `${head.join('  ')}\n${errorLines(err)}`
}

function parseEntry(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function timeOfDay(time: unknown): string {
  return plain(time).replace(/^.*T/, '').replace('Z', '')
}

function levelLabel(level: unknown, color: boolean): string {
  if (typeof level !== 'string') return '?'.padEnd(LEVEL_WIDTH)
  return paint(LEVEL_COLORS[level] ?? 'gray', level.toUpperCase().padEnd(LEVEL_WIDTH), color)
}

function paint(name: Color, text: string, color: boolean): string {
  return color ? `\u001b[${COLORS[name]}m${text}\u001b[39m` : text
}

function compact(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? plain(value) : visible(JSON.stringify(value))
}

function plain(value: unknown): string {
  return visible(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Text in a log may come from a peer: it must not steer the terminal or pretend to be another line. */
function visible(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

function errorLines(err: unknown): string {
  if (err === undefined) return ''
  const { stack, message } = err as { stack?: unknown; message?: unknown }
  const text = typeof stack === 'string' ? stack : typeof message === 'string' ? message : JSON.stringify(err)
  return text
    .split('\n')
    .map((line) => `    ${visible(line)}\n`)
    .join('')
}

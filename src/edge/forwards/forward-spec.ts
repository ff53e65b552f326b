/** Forwards as people write them: `HOST:PORT:LOCAL_PORT`, where HOST is a name the hub knows or an address beyond it. */

import { isIPv6 } from 'node:net'
import { API_SERVER_TARGET } from '../../protocol/names.ts'

const maxPort = 65_535
const namePattern = /^[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?$/
/** What DNS allows for a whole name. */
const MAX_FORWARD_HOST_LENGTH = 253
/** Each is a listener; a node needs a handful. */
export const MAX_FORWARDS = 256

export interface ForwardSpec {
  /** What the hub is asked for. */
  readonly target: string
  /** 0 lets the system choose. */
  readonly localPort: number
}

export class ForwardSpecError extends Error {
  override readonly name = 'ForwardSpecError'
}

/** All or nothing: each local port once. */
export function parseForwards(texts: readonly string[]): readonly ForwardSpec[] {
  if (texts.length > MAX_FORWARDS)
    throw new ForwardSpecError(`${texts.length} targets are given; at most ${MAX_FORWARDS} are possible`)
  const textOfPort = new Map<number, string>()
  return texts.map((text) => {
    const forward = parseForward(text)
    const other = textOfPort.get(forward.localPort)
    if (other !== undefined)
      throw new ForwardSpecError(
        other === text
          ? `target ${quoted(text)} is given twice`
          : `targets ${quoted(other)} and ${quoted(text)} both want the local port ${forward.localPort}`,
      )
    textOfPort.set(forward.localPort, text)
    return forward
  })
}

export function parseForward(text: string): ForwardSpec {
  const match = /^(?:\[(?<inner>[^\]]*)\]|(?<outer>[^:[\]]*)):(?<port>[^:]*):(?<localPort>[^:]*)$/.exec(text)?.groups
  if (match === undefined) throw malformed(text, 'it has not three parts')
  const host = readHost(text, match['inner'], match['outer'] ?? '')
  const port = readPort(text, 'port', match['port'] ?? '')
  const localPort = readPort(text, 'local port', match['localPort'] ?? '')
  return { target: host === API_SERVER_TARGET ? host : `${host}:${port}`, localPort }
}

function readHost(text: string, bracketed: string | undefined, plain: string): string {
  if (bracketed !== undefined) {
    if (!isIPv6(bracketed) || bracketed.includes('%'))
      throw malformed(text, `${quoted(bracketed)} in brackets is no IPv6 address`)
    return `[${bracketed.toLowerCase()}]`
  }
  if (plain.length > MAX_FORWARD_HOST_LENGTH || !namePattern.test(plain))
    throw malformed(text, `${quoted(plain)} is neither a name nor an address`)
  return plain.toLowerCase()
}

function readPort(text: string, what: string, digits: string): number {
  const port = /^[0-9]{1,5}$/.test(digits) ? Number(digits) : 0
  if (port < 1 || port > maxPort)
    throw malformed(text, `the ${what} ${quoted(digits)} is not a number from 1 to ${maxPort}`)
  return port
}

function malformed(text: string, problem: string): ForwardSpecError {
  return new ForwardSpecError(
    `target ${quoted(text)}: ${problem}; write HOST:PORT:LOCAL_PORT, for example kube-apiserver:6443:6443, ` +
      'db.example:5432:15432 or [fd00::7]:443:8443',
  )
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

/**
 * PEM, read strictly: text around the blocks is allowed, as `openssl x509 -text` prints it, but a block that is begun must
 * be well formed to its end. Each mistake is reported with its line, because people paste these by hand.
 */
import { IdentityError } from './errors.ts'

/** Several times the CA bundle of a whole operating system. */
export const MAX_PEM_BYTES = 1024 * 1024
/** Each becomes a certificate to parse and to try; a public CA bundle has some 150. */
export const MAX_PEM_BLOCKS = 512

const PEM_LINE_CHARACTERS = 64

export interface PemBlock {
  readonly label: string
  /** The old `Name: value` lines at the top of a block; only encrypted keys still carry them. */
  readonly headers: Readonly<Record<string, string>>
  readonly der: Buffer
}

const BOUNDARY = /^-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]*)-----\s*$/
const HEADER = /^([A-Za-z0-9-]+):\s*(.*)$/
const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$|^[A-Za-z0-9+/]{2}==$|^[A-Za-z0-9+/]{3}=$/

interface OpenBlock {
  readonly label: string
  readonly firstLine: number
  readonly lines: string[]
}

/** Every block of the text in order; none at all is not an error. `source` names the text in messages. */
export function readPem(text: string | Uint8Array, source: string): PemBlock[] {
  if (text.length > MAX_PEM_BYTES)
    throw new IdentityError('too-large', `${source} is larger than ${MAX_PEM_BYTES} bytes; that is no PEM file`)
  const lines = (typeof text === 'string' ? text : Buffer.from(text).toString('latin1')).split('\n')
  const blocks: PemBlock[] = []
  let open: OpenBlock | undefined
  for (const [index, line] of lines.entries()) {
    const boundary = BOUNDARY.exec(withoutByteOrderMark(line, index))
    if (boundary === null) {
      open?.lines.push(line.trim())
      continue
    }
    const [, kind, label = ''] = boundary
    if (kind === 'BEGIN') {
      if (open !== undefined) throw malformed(source, open.firstLine, `the ${open.label} block has no END line`)
      open = { label, firstLine: index + 1, lines: [] }
      continue
    }
    if (open?.label !== label) throw malformed(source, index + 1, `END ${label} ends no block of that name`)
    if (blocks.length === MAX_PEM_BLOCKS)
      throw new IdentityError('too-large', `${source} holds more than ${MAX_PEM_BLOCKS} PEM blocks`)
    blocks.push(closeBlock(open, source))
    open = undefined
  }
  if (open !== undefined) throw malformed(source, open.firstLine, `the ${open.label} block has no END line`)
  return blocks
}

export function writePem(label: string, der: Uint8Array): string {
  const base64 = Buffer.from(der).toString('base64')
  const lines = base64.match(new RegExp(`.{1,${PEM_LINE_CHARACTERS}}`, 'g')) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

function closeBlock({ label, firstLine, lines }: OpenBlock, source: string): PemBlock {
  const headers: Record<string, string> = {}
  let bodyStart = 0
  for (const line of lines) {
    const header = HEADER.exec(line)
    if (header === null) break
    headers[header[1] ?? ''] = header[2] ?? ''
    bodyStart++
  }
  const body = lines.slice(bodyStart).join('')
  const der = Buffer.from(body, 'base64')
  // Node's decoder skips what it does not know; only a text that encodes back to itself was base64 throughout.
  if (!BASE64.test(body) || der.toString('base64') !== body)
    throw malformed(source, firstLine, `the ${label} block is not valid base64`)
  return { label, headers, der }
}

/** Windows editors put one in front of the first line. Read byte by byte, it shows as three characters. */
function withoutByteOrderMark(line: string, index: number): string {
  return index === 0 ? line.replace(/^(?:\uFEFF|\u00EF\u00BB\u00BF)/, '') : line
}

function malformed(source: string, line: number, problem: string): IdentityError {
  return new IdentityError('malformed-pem', `${source}, line ${line}: ${problem}`)
}

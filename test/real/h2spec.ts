/** Runs h2spec, which plays a client that keeps the rules of HTTP/2 or breaks one of them, and reads its report. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from '../remove-folder.ts'
import { peersDirectory } from './control-plane.ts'

/** For one answer; a busy machine may need some of it, and cases that fail take all of it. */
const timeoutSeconds = 5

export interface SpecCase {
  /** Part and section, such as `http2/5.1`. */
  readonly section: string
  readonly title: string
  /** What was expected and what came; undefined where the case has passed. */
  readonly failure: string | undefined
}

/** Over TLS, with requests for a path that answers anybody. */
export async function runH2spec(server: string, path: string): Promise<SpecCase[]> {
  const { hostname, port } = new URL(server)
  const folder = await mkdtemp(join(tmpdir(), 'causeway-h2spec-'))
  const report = join(folder, 'report.xml')
  try {
    const target = ['--host', hostname, '--port', port, '--tls', '--insecure', '--strict', '--path', path]
    const printed = await output([...target, '--timeout', `${timeoutSeconds}`, '--junit-report', report])
    if (!existsSync(report)) throw new Error(`h2spec has written no report:\n${printed}`)
    return readReport(readFileSync(report, 'utf8'))
  } finally {
    removeFolder(folder)
  }
}

/** Its exit code says only that some case has failed, which the report says better. */
async function output(args: readonly string[]): Promise<string> {
  return await new Promise((resolve) => {
    execFile(join(peersDirectory(), 'h2spec'), args, (_error, stdout, stderr) => resolve(stdout + stderr))
  })
}

const caseShape = /<testcase package="([^"]*)" classname="([^"]*)"[^>]*>([\s\S]*?)<\/testcase>/g

function readReport(xml: string): SpecCase[] {
  return Array.from(xml.matchAll(caseShape), ([, section = '', title = '', outcome = '']) => ({
    section: unescaped(section),
    title: unescaped(title),
    failure: outcome === '' ? undefined : unescaped(outcome.replace(/<[^>]*>/g, '')).trim(),
  }))
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

function unescaped(text: string): string {
  return text.replace(/&(?:#(x?)([0-9a-fA-F]+)|(\w+));/g, (whole, hex: string, code: string, name: string) =>
    code === undefined ? (entities[name] ?? whole) : String.fromCodePoint(Number.parseInt(code, hex === 'x' ? 16 : 10)),
  )
}

/**
 * `edge.json`: what an edge has to remember besides its certificates. Written by us only; a version says by which rules, so
 * that an older program refuses what a newer one wrote instead of losing half of it.
 */

import * as v from 'valibot'
import { ExplainedError } from '../../runtime/explained-error.ts'

/** The form of `edge.json` that this program writes; a reader of another form cannot know what it would lose. */
const EDGE_RECORD_VERSION = 1

const sha256Hex = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))
const nonEmpty = v.pipe(v.string(), v.minLength(1))

const recordSchema = v.object({
  version: v.literal(EDGE_RECORD_VERSION),
  node: nonEmpty,
  hubs: v.pipe(v.array(nonEmpty), v.minLength(1)),
  apiServerName: nonEmpty,
  kubernetesCaSha256: sha256Hex,
  /** When to replace the certificate with this fingerprint: drawn once, then kept. */
  rotation: v.optional(v.object({ fingerprint: sha256Hex, atMs: v.pipe(v.number(), v.integer()) })),
})

type RecordOnDisk = v.InferOutput<typeof recordSchema>
export type EdgeRecord = Omit<RecordOnDisk, 'version' | 'rotation'> & { readonly rotation?: RememberedRotation }

export interface RememberedRotation {
  readonly fingerprint: string
  readonly atMs: number
}

export class EdgeRecordError extends ExplainedError {
  override readonly name = 'EdgeRecordError'
  /** A newer program's file must never be replaced by an older program. */
  readonly problem: 'damaged' | 'newer'

  constructor(problem: 'damaged' | 'newer', message: string) {
    super(message)
    this.problem = problem
  }
}

export function readEdgeRecord(text: string, path: string): EdgeRecord {
  const value = parseJson(text, path)
  const version = (value as { version?: unknown } | null)?.version
  if (typeof version === 'number' && version > EDGE_RECORD_VERSION)
    throw new EdgeRecordError(
      'newer',
      `${path} was written by a newer causeway (form ${version}, this one knows ${EDGE_RECORD_VERSION}); use that one`,
    )
  const parsed = v.safeParse(recordSchema, value)
  if (!parsed.success) {
    const [issue] = parsed.issues
    const where = v.getDotPath(issue) ?? 'the whole'
    throw damaged(path, `${where}: ${issue.message}`)
  }
  const { version: _version, rotation, ...record } = parsed.output
  return rotation === undefined ? record : { ...record, rotation }
}

export function writeEdgeRecord(record: EdgeRecord): string {
  return `${JSON.stringify({ version: EDGE_RECORD_VERSION, ...record }, undefined, 2)}\n`
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw damaged(path, (error as Error).message)
  }
}

function damaged(path: string, problem: string): EdgeRecordError {
  return new EdgeRecordError('damaged', `${path} is damaged (${problem}); restore it, or join again with a token`)
}

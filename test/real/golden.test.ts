/**
 * The golden files of the published modules: every kind with every field filled, as JSON and as protobuf, of this
 * release and of older ones. Each is read and written both ways and must come out byte for byte.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseJson, printJson } from '../../src/kube/codec/json.ts'
import { decodeMessage, decodeProtobuf, encodeMessage, encodeProtobuf } from '../../src/kube/codec/object-codec.ts'
import { readEnvelope } from '../../src/kube/envelope.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { kubernetesVersion, messageType } from '../../src/kube/schema/schema.ts'

const version = kubernetesVersion().replace('v1.', 'v0.')
const folders = [`api@${version}/testdata`, `apiextensions-apiserver@${version}/pkg/apis/testdata`]

function goldenFolders(): string[] {
  const cache = moduleCache()
  if (cache === undefined) return []
  return folders
    .map((folder) => join(cache, 'k8s.io', folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { withFileTypes: true }).map((entry) => ({ folder, entry })))
    .filter(({ entry }) => entry.isDirectory())
    .map(({ folder, entry }) => join(folder, entry.name))
}

function moduleCache(): string | undefined {
  try {
    return execFileSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

/** What a file must look like after a trip through this release; older files drop fields that are gone. */
function expectedBytes(folder: string, kind: string, extension: string): Buffer {
  const changed = join(folder, `${kind}.after_roundtrip.${extension}`)
  return readFileSync(existsSync(changed) ? changed : join(folder, `${kind}.${extension}`))
}

const found = goldenFolders()
const title =
  found.length > 0 ? 'golden files' : `golden files (skipped: no k8s.io/api@${version} in the Go module cache)`

describe.skipIf(found.length === 0)(title, () => {
  for (const folder of found) {
    const kinds = readdirSync(folder)
      .filter((name) => name.endsWith('.pb') && !name.includes('after_roundtrip'))
      .map((name) => name.slice(0, -'.pb'.length))
    const known = kinds.filter(isStillServed)

    it(`${folder.split('/').slice(-3).join('/')}: ${known.length} kinds of ${kinds.length}, the rest is gone`, () => {
      expect(known.length).toBeGreaterThan(0)
      for (const kind of known) checkKind(folder, kind)
    })
  }
})

/** A kind that an older release had and this one has not has no golden file of this release either. */
function isStillServed(kind: string): boolean {
  return found.some((folder) => folder.endsWith('/HEAD') && existsSync(join(folder, `${kind}.pb`)))
}

function checkKind(folder: string, kind: string): void {
  const protobuf = readFileSync(join(folder, `${kind}.pb`))
  const json = parseJson(readFileSync(join(folder, `${kind}.json`), 'utf8'))
  const wantedJson = printJson(parseJson(expectedBytes(folder, kind, 'json').toString('utf8')))
  const wantedProtobuf = expectedBytes(folder, kind, 'pb')
  if (kind.endsWith('.WatchEvent')) {
    checkWatchEvent(protobuf, json, wantedJson)
    return
  }
  expect(printJson(decodeProtobuf(protobuf).object), `${kind}: protobuf to JSON`).toBe(wantedJson)
  const encoded = encodeProtobuf(json as KubeObject).bytes
  expect(encoded.equals(wantedProtobuf), `${kind}: JSON to protobuf`).toBe(true)
}

/** The golden event sits in an envelope that names no kind; only its content can be compared. */
function checkWatchEvent(protobuf: Buffer, json: unknown, wantedJson: string): void {
  const message = messageType('k8s.io.apimachinery.pkg.apis.meta.v1.WatchEvent')
  const { rawStart, rawEnd } = readEnvelope(protobuf)
  const raw = protobuf.subarray(rawStart, rawEnd)
  expect(printJson(decodeMessage(message, raw).value)).toBe(wantedJson)
  expect(encodeMessage(message, json).bytes.equals(raw)).toBe(true)
}

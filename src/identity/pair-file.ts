/**
 * A certificate and its private key in two files that change together, though no file system renames two files at once.
 *
 *   1. `x.key.next`  new key, durable        -- until here the old pair is the only whole one
 *   2. `x.crt.next`  new certificate, durable -- this rename is the moment the new pair counts
 *   3. `x.key.next` -> `x.key`
 *   4. `x.crt.next` -> `x.crt`
 *
 * A certificate says by its public key which private key it belongs to. So whatever the moment of a crash, and in whatever
 * order the disk kept steps 3 and 4, a reader finds one pair that fits together: it tries the new certificate before the
 * old and, for each, the new key before the old. It then finishes the renames. A writer does that first as well, because
 * writing step 1 over a half-finished step 3 would destroy the only matching key.
 *
 * One process at a time may use a pair; the lock on the data folder sees to that.
 */

import type { KeyObject } from 'node:crypto'
import { dirname } from 'node:path'
import { explain, PUBLIC_FILE_MODE, readFileBounded, writeFileAtomically } from '../runtime/files/atomic-file.ts'
import { FileError, isOutOfReach } from '../runtime/files/file-error.ts'
import { diskOperations, type FileOperations } from '../runtime/files/file-operations.ts'
import { type Certificate, readCertificates } from './certificate.ts'
import { IdentityError } from './errors.ts'
import { keyMatchesCertificate, readPrivateKey } from './keys.ts'

export interface PairPaths {
  readonly certificate: string
  readonly key: string
}

export interface CertificatePair {
  /** The holder's own certificate first, then the CAs it came with. */
  readonly chain: readonly [Certificate, ...Certificate[]]
  readonly privateKey: KeyObject
  readonly certificatePem: string
  readonly keyPem: string
}

/** Checks that the two texts are a pair. `paths` only name them in messages. */
export function parsePair(certificatePem: string, keyPem: string, paths: PairPaths): CertificatePair {
  const chain = readCertificates(certificatePem, paths.certificate)
  const privateKey = readPrivateKey(keyPem, paths.key)
  if (!keyMatchesCertificate(privateKey, chain[0]))
    throw new IdentityError('key-mismatch', `the key in ${paths.key} does not belong to ${paths.certificate}`)
  return { chain, privateKey, certificatePem, keyPem }
}

/** A pair that somebody else maintains: read as it stands, never touched. `undefined` if neither file exists. */
export async function readForeignPair(
  paths: PairPaths,
  files: FileOperations = diskOperations,
): Promise<CertificatePair | undefined> {
  const [certificate, key] = await Promise.all([readText(files, paths.certificate), readText(files, paths.key)])
  if (certificate === undefined && key === undefined) return undefined
  if (certificate === undefined) throw halfPair(paths.key, paths.certificate)
  if (key === undefined) throw halfPair(paths.certificate, paths.key)
  return parsePair(certificate, key, paths)
}

/** Our own pair; an interrupted write is completed or cleared away. `undefined` if none was ever written. */
export async function readPair(
  paths: PairPaths,
  files: FileOperations = diskOperations,
): Promise<CertificatePair | undefined> {
  const next = nextPaths(paths)
  const [newCertificate, newKey] = await Promise.all([readText(files, next.certificate), readText(files, next.key)])
  if (newCertificate === undefined && newKey === undefined) return await readForeignPair(paths, files)
  const [certificate, key] = await Promise.all([readText(files, paths.certificate), readText(files, paths.key)])
  const found =
    tryPair(newCertificate, newKey, next) ?? tryPair(newCertificate, key, next) ?? tryPair(certificate, newKey, next)
  await explained(paths, async () => {
    if (found === undefined) return
    if (found.keyPem === newKey) await files.rename(next.key, paths.key)
    if (found.certificatePem === newCertificate) await files.rename(next.certificate, paths.certificate)
    await files.syncFolder(dirname(paths.certificate))
  })
  await explained(paths, async () => {
    await files.remove(next.certificate)
    await files.remove(next.key)
  })
  return found ?? (await readForeignPair(paths, files))
}

/** Returns when the pair is on disk. If it throws, the next read finds the old pair or the new one, whole. */
export async function writePair(
  paths: PairPaths,
  pair: { readonly certificatePem: string; readonly keyPem: string },
  files: FileOperations = diskOperations,
): Promise<CertificatePair> {
  const parsed = parsePair(pair.certificatePem, pair.keyPem, paths)
  if (dirname(paths.certificate) !== dirname(paths.key))
    throw new IdentityError('invalid-template', `${paths.certificate} and ${paths.key} must be in one folder`)
  await finishEarlierWrite(paths, files)
  const next = nextPaths(paths)
  await writeFileAtomically(next.key, pair.keyPem, { files })
  await writeFileAtomically(next.certificate, pair.certificatePem, { files, mode: PUBLIC_FILE_MODE })
  await explained(paths, async () => {
    await files.rename(next.key, paths.key)
    await files.rename(next.certificate, paths.certificate)
    await files.syncFolder(dirname(paths.certificate))
  })
  return parsed
}

/** Whether a file was read and is not what it should be, which writing it anew mends. */
export function isDamagedFile(error: unknown): error is IdentityError | FileError {
  return error instanceof IdentityError || (error instanceof FileError && error.code === 'too-large')
}

/** What stands there may be unusable; then it is about to be replaced and must not stop us. */
async function finishEarlierWrite(paths: PairPaths, files: FileOperations): Promise<void> {
  try {
    await readPair(paths, files)
  } catch (error) {
    if (isOutOfReach(error)) throw error
  }
}

function tryPair(
  certificatePem: string | undefined,
  keyPem: string | undefined,
  paths: PairPaths,
): CertificatePair | undefined {
  if (certificatePem === undefined || keyPem === undefined) return undefined
  try {
    return parsePair(certificatePem, keyPem, paths)
  } catch {
    return undefined
  }
}

function nextPaths({ certificate, key }: PairPaths): PairPaths {
  return { certificate: `${certificate}.next`, key: `${key}.next` }
}

async function readText(files: FileOperations, path: string): Promise<string | undefined> {
  return (await readFileBounded(path, { files }))?.toString('latin1')
}

async function explained(paths: PairPaths, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const what = `${paths.certificate} and ${paths.key}`
    throw new FileError('unwritable-file', `cannot replace ${what}: ${explain(error)}`, { cause: error })
  }
}

function halfPair(present: string, missing: string): IdentityError {
  return new IdentityError(
    'half-pair',
    `${present} exists, but ${missing} does not; restore the missing file, or remove the other to start afresh`,
  )
}

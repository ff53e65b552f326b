/** Folders of earlier runs that were killed before they could clear up: each says whose it is, and who is gone needs none. */
import { lstat, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { readFileBounded } from '../../runtime/files/atomic-file.ts'
import { isLocalFolder } from '../local-folder.ts'
import { judge, ownIdentity, type ProcessIdentity, surroundings } from '../process-identity.ts'

export const runFolderPrefix = 'causeway-run-'
const ownerFile = 'owner.json'
const ownerSchema = v.object({
  pid: v.number(),
  host: v.string(),
  birth: v.string(),
  pidNamespace: v.optional(v.string()),
})

/** To be called before anything secret is in the folder. */
export async function signFolder(folder: string, owner: ProcessIdentity = ownIdentity()): Promise<void> {
  await writeFile(join(folder, ownerFile), JSON.stringify(owner), { flag: 'wx', mode: 0o600 })
}

/** Removes the folders of this user whose process is known to be gone. Never rejects: clearing up must not keep a program from running. */
export async function sweepStaleFolders(temporaryFolder: string): Promise<void> {
  const names = await readdir(temporaryFolder).catch(() => [])
  for (const name of names.filter((each) => each.startsWith(runFolderPrefix))) {
    const folder = join(temporaryFolder, name)
    try {
      if (await isStale(folder)) await rm(folder, { recursive: true, force: true })
    } catch {
      // Of another user, or somebody else was quicker.
    }
  }
}

/** The folder for all is open to all: only what is really a folder of our own is believed. */
async function isStale(folder: string): Promise<boolean> {
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== process.getuid?.()) return false
  const text = await readFileBounded(join(folder, ownerFile))
  if (text === undefined) return false
  const owner = v.parse(ownerSchema, JSON.parse(text.toString('utf8')))
  return (await judge(owner, surroundings(isLocalFolder(folder)))) === 'gone'
}

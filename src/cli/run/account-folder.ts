/**
 * The files of a service account in a folder of our own: as pods have them, but reachable only for who runs this. What is shown
 * to the program lies one level deeper, readable for everybody, since a program in a pod may well run as another user.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { PUBLIC_FILE_MODE, writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import type { AccountFiles } from './service-account.ts'
import { runFolderPrefix, signFolder, sweepStaleFolders } from './stale-folders.ts'

const folderMode = 0o755

export class AccountFolder {
  /** The folder that the program sees in the place of an account's. */
  readonly files: string
  /** An empty folder, for the making of mounts. */
  readonly stage: string
  readonly kubeconfig: string
  readonly #root: string

  private constructor(root: string) {
    this.#root = root
    this.files = join(root, 'serviceaccount')
    this.stage = join(root, 'stage')
    this.kubeconfig = join(root, 'kubeconfig')
  }

  /** In a new folder that only this user may enter. Those of runs that were killed are cleared up. */
  static async make(temporaryFolder: string): Promise<AccountFolder> {
    await sweepStaleFolders(temporaryFolder)
    const folder = new AccountFolder(await mkdtemp(join(temporaryFolder, runFolderPrefix)))
    await signFolder(folder.#root)
    await mkdir(folder.files, { mode: folderMode })
    await mkdir(folder.stage)
    return folder
  }

  /** Without newlines at the end of token and namespace: several client libraries take them for a part of it. */
  async write({ token, caPem, namespace }: AccountFiles): Promise<void> {
    const mode = PUBLIC_FILE_MODE
    await writeFileAtomically(join(this.files, 'ca.crt'), caPem, { mode })
    await writeFileAtomically(join(this.files, 'namespace'), namespace, { mode })
    await writeFileAtomically(join(this.files, 'token'), token, { mode })
  }

  /** For programs that take a kubeconfig in place of the files of a pod. */
  async writeKubeconfig(server: string, namespace: string): Promise<void> {
    const name = 'causeway-run'
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server, 'certificate-authority': join(this.files, 'ca.crt') } }],
      users: [{ name, user: { tokenFile: join(this.files, 'token') } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace } }],
      'current-context': name,
    }
    await writeFileAtomically(this.kubeconfig, stringify(config))
  }

  async remove(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true })
  }
}

/** Finds the published Go modules on this machine, downloading them through the Go tool where they are missing. */
import { execFileSync } from 'node:child_process'

/** The Kubernetes release whose facts the tables hold; module versions follow it as v0.<minor>.<patch>. */
export const kubernetesVersion = 'v1.36.4'
export const stagingVersion: string = kubernetesVersion.replace('v1.', 'v0.')

export function moduleFolder(module: string): string {
  const version = module === 'k8s.io/kubernetes' ? kubernetesVersion : stagingVersion
  const output = execFileSync('go', ['mod', 'download', '-json', `${module}@${version}`], {
    encoding: 'utf8',
    env: { ...process.env, GOWORK: 'off', GOFLAGS: '-mod=mod' },
  })
  const folder = (JSON.parse(output) as { Dir?: string }).Dir
  if (folder === undefined) throw new Error(`go mod download gave no folder for ${module}@${version}`)
  return folder
}

/** A container image made here, since tests pull nothing: the program in `tunnel-toolbox/` under all its names. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeFolder } from '../remove-folder.ts'

export const TOOLBOX_IMAGE = 'docker.io/causeway-test/toolbox:1'

export type BuiltImage = { readonly archive: string; remove(): void } | { readonly missing: string }

const tools = ['cat', 'env', 'fail', 'host', 'main', 'pause', 'sum', 'tar', 'test', 'tty']
const sources = fileURLToPath(new URL('tunnel-toolbox', import.meta.url))

/** An archive for `ctr images import`, or why there is none. */
export function buildToolboxImage(): BuiltImage {
  const directory = mkdtempSync(join(tmpdir(), 'causeway-image-'))
  const remove = (): void => removeFolder(directory)
  try {
    return { archive: writeImage(directory), remove }
  } catch (error) {
    remove()
    return { missing: (error as Error).message.split('\n')[0] ?? '' }
  }
}

function writeImage(directory: string): string {
  const root = join(directory, 'root')
  for (const folder of ['bin', 'tmp', 'etc']) mkdirSync(join(root, folder), { recursive: true })
  run('go', ['build', '-o', join(root, 'bin/toolbox'), '.'], sources)
  for (const tool of tools) symlinkSync('toolbox', join(root, 'bin', tool))
  run('tar', ['--create', '--file', join(directory, 'layer.tar'), '--directory', root, '.'], directory)
  const digest = sha256(readFileSync(join(directory, 'layer.tar')))
  const config = JSON.stringify({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Entrypoint: ['/bin/pause'], Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
  })
  const configName = `${sha256(Buffer.from(config))}.json`
  writeFileSync(join(directory, configName), config)
  const manifest = [{ Config: configName, RepoTags: [TOOLBOX_IMAGE], Layers: ['layer.tar'] }]
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest))
  const archive = join(directory, 'image.tar')
  run('tar', ['--create', '--file', archive, configName, 'layer.tar', 'manifest.json'], directory)
  return archive
}

function run(program: string, args: readonly string[], cwd: string): void {
  const env = { ...process.env, CGO_ENABLED: '0' }
  const { status, error, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args[0]} failed: ${error?.message ?? stderr}`)
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

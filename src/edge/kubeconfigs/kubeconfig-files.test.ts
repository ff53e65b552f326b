import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { diskOperations, type FileOperations } from '../../runtime/files/file-operations.ts'
import { type KubeconfigsOptions, kubeconfigPaths, writeKubeconfigs } from './kubeconfig-files.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'causeway-kubeconfigs-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

async function write(options: Partial<KubeconfigsOptions> = {}): Promise<void> {
  const kubernetesCaFile = join(dataDir, 'kubernetes-ca.crt')
  await writeKubeconfigs({ node: 'edge-1', dataDir, kubernetesCaFile, host: '127.0.0.1', port: 10550, ...options })
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

describe('kubeconfigs for the programs of a node', () => {
  it('lead to the endpoint: the kubelet by the certificate of the node, kube-proxy by a token file', async () => {
    await write()
    const { kubelet, kubeProxy, kubeProxyToken } = kubeconfigPaths(dataDir)
    const cluster = { server: 'https://127.0.0.1:10550', 'certificate-authority': join(dataDir, 'kubernetes-ca.crt') }
    expect(read(kubelet)).toMatchObject({
      clusters: [{ cluster }],
      users: [
        {
          name: 'system:node:edge-1',
          user: {
            'client-certificate': join(dataDir, 'kubelet-client.crt'),
            'client-key': join(dataDir, 'kubelet-client.key'),
          },
        },
      ],
      contexts: [{ name: 'causeway', context: { cluster: 'causeway', user: 'system:node:edge-1' } }],
      'current-context': 'causeway',
    })
    expect(read(kubeProxy)).toMatchObject({ clusters: [{ cluster }], users: [{ user: { tokenFile: kubeProxyToken } }] })
    for (const file of [kubelet, kubeProxy]) expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('name whole paths, whatever folder the edge was started in', async () => {
    const folder = relative(process.cwd(), dataDir)
    await write({ dataDir: folder, kubernetesCaFile: join(folder, 'kubernetes-ca.crt') })
    const text = readFileSync(kubeconfigPaths(dataDir).kubelet, 'utf8')
    expect(text).toContain(`"${join(dataDir, 'kubelet-client.crt')}"`)
    expect(text).toContain(`"${join(dataDir, 'kubernetes-ca.crt')}"`)
  })

  it('are written again when the port changes or somebody spoiled them, and left alone otherwise', async () => {
    const written: string[] = []
    const files: FileOperations = {
      ...diskOperations,
      create: (path, mode) => {
        written.push(path)
        return diskOperations.create(path, mode)
      },
    }
    await write({ files })
    expect(written).toHaveLength(2)
    await write({ files })
    expect(written).toHaveLength(2)
    await write({ files, host: '::1', port: 20000 })
    expect(written).toHaveLength(4)
    const { kubelet, kubeProxy } = kubeconfigPaths(dataDir)
    for (const file of [kubelet, kubeProxy])
      expect(read(file)).toMatchObject({ clusters: [{ cluster: { server: 'https://[::1]:20000' } }] })
    writeFileSync(kubelet, '{}')
    await write({ files, host: '::1', port: 20000 })
    expect(written).toHaveLength(5)
  })
})

/** The programs of the real suite come from published modules: which ones, and what is replaced to build them. */
import { describe, expect, it } from 'vitest'
import { versionIn } from '../../tools/peers/build.ts'
import { peerGroups } from '../../tools/peers/catalogue.ts'

const group = (name: string) => peerGroups.find((candidate) => candidate.name === name)!

describe('the peers', () => {
  it('are all that suites and benches start', () => {
    const programs = peerGroups.flatMap(({ programs: all }) => all.map((program) => program.name))
    expect(programs.toSorted()).toEqual([
      'e2e.test',
      'etcd',
      'h2spec',
      'konnectivity-agent',
      'konnectivity-server',
      'konnectivity-test-client',
      'konnectivity-test-server',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-proxy',
      'kubectl',
      'kubelet',
      'sample-apiserver',
      'yurthub',
    ])
  })

  it('take the staging modules of Kubernetes as they are published', () => {
    const asked = {
      Require: [
        { Path: 'k8s.io/api', Version: 'v0.0.0' },
        { Path: 'k8s.io/klog/v2', Version: 'v2.140.0' },
        { Path: 'example.com/other', Version: 'v0.0.0' },
      ],
    }
    expect(group('kubernetes').replacements(asked)).toEqual([{ path: 'k8s.io/api', by: 'k8s.io/api@v0.36.4' }])
  })

  it('take over what a module replaces for itself, folders of its own repository excepted', () => {
    const asked = {
      Replace: [
        { Old: { Path: 'k8s.io/api' }, New: { Path: 'github.com/kubernetes/api', Version: 'v0.34.0' } },
        { Old: { Path: 'example.com/a' }, New: { Path: './a' } },
      ],
    }
    expect(group('yurthub').replacements(asked)).toEqual([{ path: 'k8s.io/api', by: 'k8s.io/api@v0.34.0' }])
  })

  it('say which version they were built from', () => {
    const info = 'etcd: go1.26.8\n\tpath\tcauseway.invalid/etcd\n\tmod\ta\t(devel)\t\n\tdep\tb\tv1.2.3\th1:x=\n'
    expect(versionIn(info, 'b')).toBe('v1.2.3')
    expect(versionIn(info, 'c')).toBeUndefined()
  })
})

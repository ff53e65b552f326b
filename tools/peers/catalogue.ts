/** The real programs that the suites test against and the benches measure beside: which, in which version, from where. */
import { kubernetesVersion, stagingVersion } from '../generate/go-modules.ts'

export interface PeerProgram {
  /** The name of the file. */
  readonly name: string
  readonly goPackage: string
  /** Compiles the tests of the package in place of its command. */
  readonly isTestBinary?: boolean
}

/** Programs of one Go module. */
export interface PeerGroup {
  readonly name: string
  readonly goModule: string
  readonly version: string
  readonly programs: readonly PeerProgram[]
  readonly linkerFlags?: readonly string[]
  /** Modules which are taken from another place than the module asks for; the replacements of a dependency do not count. */
  replacements(requirements: GoModule): readonly Replacement[]
  /** Built only when it is asked for by name. */
  readonly isExtra?: boolean
}

/** What `go mod edit -json` says of a go.mod. */
export interface GoModule {
  readonly Require?: readonly ModuleVersion[]
  readonly Replace?: readonly { readonly Old: ModuleVersion; readonly New: ModuleVersion }[]
}

export interface ModuleVersion {
  readonly Path: string
  readonly Version?: string
}

export interface Replacement {
  readonly path: string
  readonly by: string
}

const konnectivityModule = 'sigs.k8s.io/apiserver-network-proxy'
const konnectivityVersion = 'v0.36.0'
const versionPackage = 'k8s.io/component-base/version'
const [major, minor] = kubernetesVersion.slice(1).split('.')

/** Without these the programs call themselves v0.0.0. */
const kubernetesVersionFlags: readonly string[] = [
  `-X ${versionPackage}.gitVersion=${kubernetesVersion}`,
  `-X ${versionPackage}.gitMajor=${major}`,
  `-X ${versionPackage}.gitMinor=${minor}`,
]

const h2specRequirements: readonly string[] = [
  'github.com/fatih/color@v1.19.0',
  'github.com/spf13/cobra@v1.10.2',
  'golang.org/x/net@v0.56.0',
]

const kubernetesCommand = (name: string): PeerProgram => ({ name, goPackage: `k8s.io/kubernetes/cmd/${name}` })

export const peerGroups: readonly PeerGroup[] = [
  {
    name: 'etcd',
    goModule: 'go.etcd.io/etcd/server/v3',
    version: 'v3.6.5',
    programs: [{ name: 'etcd', goPackage: 'go.etcd.io/etcd/server/v3' }],
    replacements: () => [],
  },
  {
    name: 'konnectivity',
    goModule: konnectivityModule,
    version: konnectivityVersion,
    programs: ['server', 'agent', 'test-client', 'test-server'].map((command) => ({
      name: `konnectivity-${command}`,
      goPackage: `${konnectivityModule}/cmd/${command}`,
    })),
    // It asks for its own client at v0.0.0.
    replacements: () => [
      {
        path: `${konnectivityModule}/konnectivity-client`,
        by: `${konnectivityModule}/konnectivity-client@${konnectivityVersion}`,
      },
    ],
  },
  {
    name: 'kubernetes',
    goModule: 'k8s.io/kubernetes',
    version: kubernetesVersion,
    programs: ['kube-apiserver', 'kube-controller-manager', 'kubelet', 'kube-proxy', 'kubectl'].map(kubernetesCommand),
    linkerFlags: kubernetesVersionFlags,
    replacements: publishedStaging,
  },
  {
    name: 'sample-apiserver',
    goModule: 'k8s.io/sample-apiserver',
    version: stagingVersion,
    programs: [{ name: 'sample-apiserver', goPackage: 'k8s.io/sample-apiserver' }],
    replacements: () => [],
  },
  {
    name: 'h2spec',
    goModule: 'github.com/summerwind/h2spec',
    // The newest that the module proxy lists: tags behind it are no versions for Go.
    version: 'v2.2.1+incompatible',
    programs: [{ name: 'h2spec', goPackage: 'github.com/summerwind/h2spec/cmd/h2spec' }],
    // It has no go.mod, so that Go would take the newest of the day.
    replacements: () =>
      h2specRequirements.map((module) => ({ path: module.slice(0, module.indexOf('@')), by: module })),
  },
  {
    name: 'e2e',
    goModule: 'k8s.io/kubernetes',
    version: kubernetesVersion,
    programs: [{ name: 'e2e.test', goPackage: 'k8s.io/kubernetes/test/e2e', isTestBinary: true }],
    replacements: publishedStaging,
    isExtra: true,
  },
  {
    name: 'yurthub',
    goModule: 'github.com/openyurtio/openyurt',
    version: 'v1.7.0',
    programs: [{ name: 'yurthub', goPackage: 'github.com/openyurtio/openyurt/cmd/yurthub' }],
    replacements: ownReplacements,
    isExtra: true,
  },
]

/** Kubernetes asks for its staging modules at v0.0.0, and they are published under the version of the release. */
function publishedStaging({ Require = [] }: GoModule): Replacement[] {
  const staging = Require.filter(({ Path, Version }) => Path.startsWith('k8s.io/') && Version === 'v0.0.0')
  return staging.map(({ Path }) => ({ path: Path, by: `${Path}@${stagingVersion}` }))
}

/** What the module replaces for itself, with Kubernetes' modules under the name that they publish. */
function ownReplacements({ Replace = [] }: GoModule): Replacement[] {
  return Replace.flatMap(({ Old, New }) =>
    New.Version === undefined
      ? []
      : [{ path: Old.Path, by: `${New.Path.replace(/^github\.com\/kubernetes\//, 'k8s.io/')}@${New.Version}` }],
  )
}

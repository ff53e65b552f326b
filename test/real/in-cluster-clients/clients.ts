/** The in-cluster clients of the suites, and what stands in the namespace of each before it starts. */
import { join } from 'node:path'
import { buildFolder, clientPrograms, isBuilt, sourceFolder } from '../../../tools/clients/catalogue.ts'

export interface Client {
  readonly name: string
  readonly command: readonly string[]
  readonly missing: readonly string[]
}

export const CLIENT_ACCOUNT = 'worker'

export const clients: readonly Client[] = [
  { name: 'kubectl', command: ['sh', join(sourceFolder('kubectl'), 'main.sh')], missing: [] },
  ...clientPrograms.map((program) => ({
    name: program.name,
    command: program.command(buildFolder(program)),
    missing: isBuilt(program) ? [] : ['build of it, which "npm run clients" makes'],
  })),
]

/** All that stands in a client's namespace before it starts. */
export function manifestOf(namespace: string): string {
  const metadata = (name: string) => ({ name, namespace })
  const pod = { containers: [{ name: 'main', image: 'none' }] }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: CLIENT_ACCOUNT }
  const rules = [
    { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    {
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
    },
  ]
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata(CLIENT_ACCOUNT) },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: metadata(CLIENT_ACCOUNT), rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: metadata(CLIENT_ACCOUNT),
      roleRef,
      subjects: [{ kind: 'ServiceAccount', name: CLIENT_ACCOUNT, namespace }],
    },
    ...['one', 'two'].map((name) => ({ apiVersion: 'v1', kind: 'Pod', metadata: metadata(name), spec: pod })),
    ...['defaults', 'settings'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(name) })),
  ]
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}

/** The volume by which containers reach the API: a token that is renewed, the CA, and the name of the namespace. */
import { type Fields, structs, text } from '../kinds/fields.ts'

/** Where client libraries look. */
const TOKEN_MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
/** An hour and seven seconds: the odd number marks tokens that nobody asked for, which live longer than they say. */
const MOUNTED_TOKEN_SECONDS = 3607

const volumeNamePrefix = 'kube-api-access-'
const defaultMode = 0o644

/** Mounts the volume into every container that mounts nothing there itself. */
export function mountToken(spec: Fields, drawName: (prefix: string) => string): void {
  const volumes = structs(spec, 'volumes')
  const present = volumes.map((volume) => text(volume, 'name')).find((name) => name.startsWith(volumeNamePrefix))
  const name = present ?? drawName(volumeNamePrefix)
  const needing = [...structs(spec, 'initContainers'), ...structs(spec, 'containers')].filter(
    (container) => !structs(container, 'volumeMounts').some((mount) => text(mount, 'mountPath') === TOKEN_MOUNT_PATH),
  )
  for (const container of needing) {
    const mount = { name, readOnly: true, mountPath: TOKEN_MOUNT_PATH }
    container['volumeMounts'] = [...structs(container, 'volumeMounts'), mount]
  }
  if (present === undefined && needing.length > 0) spec['volumes'] = [...volumes, { name, projected: tokenSources() }]
}

function tokenSources(): Fields {
  const namespace = { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }
  return {
    sources: [
      { serviceAccountToken: { expirationSeconds: MOUNTED_TOKEN_SECONDS, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [namespace] } },
    ],
    defaultMode,
  }
}

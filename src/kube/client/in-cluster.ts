/**
 * The connection of a pod: the address from the environment, token, CA and namespace from the mounted service account.
 */
import { join } from 'node:path'
import { type ConnectionConfig, ConnectionConfigError, MAX_MATERIAL_BYTES, parseServer } from './connection.ts'
import { readFailureReason, readSmallFile } from './small-file.ts'

const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount'

export interface InClusterOptions {
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  readonly directory?: string
}

/** Whether the environment looks like a pod's. */
export function isInCluster(environment: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return Boolean(environment['KUBERNETES_SERVICE_HOST']) && Boolean(environment['KUBERNETES_SERVICE_PORT'])
}

export async function loadInClusterConfig(options: InClusterOptions = {}): Promise<ConnectionConfig> {
  const environment = options.environment ?? process.env
  const directory = options.directory ?? SERVICE_ACCOUNT_DIRECTORY
  const host = environment['KUBERNETES_SERVICE_HOST']
  const port = environment['KUBERNETES_SERVICE_PORT']
  if (!host || !port) {
    throw new ConnectionConfigError(
      'not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set',
    )
  }
  // The token is only checked for presence here; the credentials read it, again and again.
  await readMounted(directory, 'token')
  await readMounted(directory, 'ca.crt')
  return {
    source: 'in-cluster environment',
    server: parseServer(
      `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      'KUBERNETES_SERVICE_HOST and _PORT',
    ),
    namespace: (await readMounted(directory, 'namespace')).trim() || 'default',
    tls: { ca: { file: join(directory, 'ca.crt') }, skipVerify: false },
    credentials: { type: 'token', token: { file: join(directory, 'token') } },
  }
}

async function readMounted(directory: string, name: string): Promise<string> {
  const file = join(directory, name)
  try {
    return (await readSmallFile(file, MAX_MATERIAL_BYTES)).toString('utf8')
  } catch (cause) {
    const reason = readFailureReason(cause)
    const advice = 'is a service account mounted (automountServiceAccountToken)?'
    throw new ConnectionConfigError(`inside a cluster, but cannot read ${file}: ${reason}; ${advice}`, { cause })
  }
}

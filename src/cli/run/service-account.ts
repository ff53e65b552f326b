/** What a pod of a service account is given: a token, the CA to trust, and the name of its namespace. */
import { readCertificates } from '../../identity/certificate.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { ConnectionConfigError } from '../../kube/client/connection.ts'
import { configMaps, serviceAccounts, tokenRequests } from '../../kube/client/kinds.ts'
import { TransportError } from '../../kube/client/transport-error.ts'
import { isForbidden, isNotFound } from '../../kube/status/predicates.ts'
import { ApiError } from '../../kube/status/status.ts'
import { CommandError, UsageError } from '../failure.ts'

/** As long as the kubelet asks for; API servers give at least ten minutes. */
const RUN_TOKEN_SECONDS = 3_600
const rootCaConfigMap = 'kube-root-ca.crt'
const namePattern = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

export interface AccountName {
  readonly namespace: string
  readonly name: string
}

export interface AccountFiles {
  readonly token: string
  readonly caPem: string
  readonly namespace: string
  /** From when it was made; the clock here may differ from that of the API server, so there is no end in it. */
  readonly tokenLifeMs: number
}

/** `namespace/name`. */
export function parseAccountName(text: string): AccountName {
  const [namespace = '', name = '', ...rest] = text.split('/')
  if (rest.length > 0 || !namePattern.test(namespace) || !namePattern.test(name))
    throw new UsageError(
      `--service-account: expected namespace/name such as default/default, got ${JSON.stringify(text)}`,
    )
  return { namespace, name }
}

export async function fetchAccount(
  client: KubeClient,
  account: AccountName,
  signal?: AbortSignal,
): Promise<AccountFiles> {
  try {
    const { namespace, name } = account
    const [request, trust] = await Promise.all([
      client
        .resource(serviceAccounts)
        .in(namespace)
        .subresource(name, tokenRequests)
        .create({ spec: { audiences: [], expirationSeconds: RUN_TOKEN_SECONDS } }, {}, { signal }),
      client.resource(configMaps).in(namespace).get(rootCaConfigMap, {}, { signal }),
    ])
    const token = request.status?.token.trim()
    if (!token) throw new CommandError('the API server answered a TokenRequest without a token')
    const caPem = trust.data?.['ca.crt'] ?? ''
    // A folder with a CA that nobody can read would fail later, and with a worse message.
    readCertificates(caPem, `ConfigMap ${namespace}/${rootCaConfigMap}`)
    // The API server may give less than was asked for.
    return { token, caPem, namespace, tokenLifeMs: (request.spec.expirationSeconds ?? RUN_TOKEN_SECONDS) * 1_000 }
  } catch (error) {
    throw explained(error, account, client)
  }
}

function explained(error: unknown, { namespace, name }: AccountName, { connection }: KubeClient): unknown {
  const options = { cause: error }
  const what = `cannot get a token for the service account ${namespace}/${name}`
  if (error instanceof TransportError)
    return new CommandError(
      `${what}: the API server of ${connection.source} cannot be reached: ${error.message}`,
      options,
    )
  if (isNotFound(error))
    return new CommandError(`${what}: ${(error as Error).message}; see "kubectl get serviceaccounts -A"`, options)
  if (isForbidden(error))
    return new CommandError(
      `${what}: ${(error as Error).message}; give --kubeconfig with the rights to create serviceaccounts/token and to get configmaps`,
      options,
    )
  return error instanceof ApiError || error instanceof ConnectionConfigError
    ? new CommandError(`${what}: ${error.message}`, options)
    : error
}

/** What the program finds in its environment: what we have, but for what decides which API server it talks to. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { EndpointAddress } from './edge-endpoint.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** As the kubelet sets it in pods. A kubeconfig would win over that, and a proxy would be asked to reach this machine. */
export function podEnvironment(inherited: Environment, { host, port }: EndpointAddress): NodeJS.ProcessEnv {
  const { KUBECONFIG: _kubeconfig, ...rest } = inherited
  return {
    ...rest,
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    ...withoutProxy(inherited, host),
  }
}

export function kubeconfigEnvironment(inherited: Environment, kubeconfig: string, host: string): NodeJS.ProcessEnv {
  return { ...inherited, KUBECONFIG: kubeconfig, ...withoutProxy(inherited, host) }
}

/** Libraries read one spelling or the other. Where no proxy is set there is nothing to exempt. */
function withoutProxy(inherited: Environment, host: string): NodeJS.ProcessEnv {
  const isProxied = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'].some((name) => inherited[name])
  if (!isProxied) return {}
  const add = (list: string | undefined): string => [...(list ? [list] : []), host].join(',')
  const { NO_PROXY: upper, no_proxy: lower } = inherited
  return { NO_PROXY: add(upper ?? lower), no_proxy: add(lower ?? upper) }
}

/** The user's own kubeconfig comes before the files of a pod in kubectl and others; pods have none. */
export function folderToHide(inherited: Environment): string | undefined {
  const folder = join(inherited['HOME'] ?? '', '.kube')
  return inherited['HOME'] && existsSync(join(folder, 'config')) ? folder : undefined
}

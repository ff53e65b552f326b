/** Agents that show the token of a ServiceAccount. The token must be bound to a pod, and the pod's node is the agent's. */
import { decodeJwt } from 'jose'
import { Refusal } from '../refusal.ts'
import type { AgentIdentity } from './agent-identity.ts'

/** When it is to be looked at again is for others to say. */
export type TokenIdentity = Omit<AgentIdentity, 'isDoubtful' | 'isSuperseded'>

/** What the API server says of a token that is good: `status.user` of a TokenReview. */
export interface ReviewedUser {
  readonly username: string
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export interface AgentTokensOptions {
  /** ServiceAccounts, as `NAMESPACE/NAME`. */
  readonly allowed: readonly string[]
  /** Asks the cluster. `undefined`: the token is not good. Rejects where the cluster does not answer. */
  readonly review: (token: string) => Promise<ReviewedUser | undefined>
  /** For clusters whose tokens do not name the node: that of a pod, if the pod still has this uid. */
  readonly nodeOfPod?: (namespace: string, name: string, uid: string) => Promise<string | undefined>
}

/** Keys that the API server alone sets. */
const Extra = {
  nodeName: 'authentication.kubernetes.io/node-name',
  podName: 'authentication.kubernetes.io/pod-name',
  podUid: 'authentication.kubernetes.io/pod-uid',
} as const

/** No token of a ServiceAccount is nearly as long. */
const MAX_AGENT_TOKEN_LENGTH = 8_192

export class AgentTokens {
  readonly #options: AgentTokensOptions

  constructor(options: AgentTokensOptions) {
    this.#options = options
    for (const each of options.allowed)
      if (!/^[^/\s]+\/[^/\s]+$/.test(each)) throw new Error(`${JSON.stringify(each)} is not of the form NAMESPACE/NAME`)
  }

  /** Rejects with a `Refusal`. */
  async identify(authorization: string): Promise<TokenIdentity> {
    const token = bearerToken(authorization)
    const { node, account } = await this.#judge(token)
    const recheck = async (): Promise<void> => {
      const again = await this.#judge(token)
      if (again.node !== node) throw new Refusal('node-mismatch', `the pod of this agent is on node ${again.node} now`)
    }
    const validUntilMs = endOf(token)
    return {
      node,
      proof: `token of ${account}`,
      validUntilMs,
      recheck,
    }
  }

  async #judge(token: string): Promise<{ node: string; account: string }> {
    const user = await answered(this.#options.review(token))
    if (user === undefined) throw new Refusal('token-invalid', 'the cluster does not know this token')
    const [, namespace = '', name = ''] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user.username) ?? []
    const account = `${namespace}/${name}`
    if (!this.#options.allowed.includes(account))
      throw new Refusal('token-invalid', `agents of ${user.username} are not allowed at this hub`)
    const node = await this.#nodeOf(user, namespace)
    if (node === undefined)
      throw new Refusal(
        'token-invalid',
        `this token of ${account} is not bound to a pod on a node, so it names no node`,
      )
    return { node, account }
  }

  async #nodeOf({ extra }: ReviewedUser, namespace: string): Promise<string | undefined> {
    const node = only(extra[Extra.nodeName])
    if (node !== undefined) return node
    const podName = only(extra[Extra.podName])
    const podUid = only(extra[Extra.podUid])
    if (podName === undefined || podUid === undefined) return undefined
    const { nodeOfPod } = this.#options
    return nodeOfPod === undefined ? undefined : await answered(nodeOfPod(namespace, podName, podUid))
  }
}

async function answered<T>(question: Promise<T>): Promise<T> {
  try {
    return await question
  } catch (error) {
    throw new Refusal('cluster-unavailable', 'the cluster cannot be asked about the token', { cause: error })
  }
}

/** The stock agent sends its file as it is, with the line end that may be there. */
function bearerToken(authorization: string): string {
  const token = /^Bearer (\S+)\s*$/.exec(authorization)?.[1]
  if (token === undefined || token.length > MAX_AGENT_TOKEN_LENGTH)
    throw new Refusal('token-missing', 'the authorization of an agent is one bearer token')
  return token
}

function only(values: readonly string[] | undefined): string | undefined {
  return values?.length === 1 && values[0] !== '' ? values[0] : undefined
}

/** By what a token says that the cluster has found good; `undefined` where it is not one to be read. */
function endOf(token: string): number | undefined {
  try {
    const { exp } = decodeJwt(token)
    return exp === undefined ? undefined : exp * 1000
  } catch {
    return undefined
  }
}

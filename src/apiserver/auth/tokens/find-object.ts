/** What tokens have to be checked against, and who finds it: the objects that they are about. */
export type TokenResource = 'serviceaccounts' | 'pods' | 'secrets' | 'nodes'

/** As much of an object as tokens are checked against. Callers only look: the same one may be handed out again. */
export interface TokenObject {
  readonly metadata?: {
    readonly name?: string | undefined
    readonly namespace?: string | undefined
    readonly uid?: string | undefined
    readonly deletionTimestamp?: string | undefined
    readonly labels?: Readonly<Record<string, string>> | undefined
  }
  readonly spec?: unknown
  readonly data?: unknown
}

/** The namespace is empty for nodes. undefined when there is no such object. */
export type FindObject = (resource: TokenResource, namespace: string, name: string) => Promise<TokenObject | undefined>

export interface PodSpec {
  readonly serviceAccountName?: string
  readonly nodeName?: string
}

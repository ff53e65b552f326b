/**
 * What a scenario can say. A line of a script is one of these, word by word; what stands in capitals here is any word there. A PLACE is
 * `cloud`, for the API server itself, or the name of an edge, for its endpoint;
 * an ACCOUNT that was never made is anonymous. Another verb is another entry of the table.
 */
import { JoinError } from '../../src/edge/join/join-error.ts'
import { ApiError, configMaps, type KubeObject, pods, type Resource, secrets } from '../../src/kube/index.ts'
import type { SiteWorld } from '../worlds/site-world.ts'

/** What the lines of one script share. */
export interface Stage {
  readonly site: SiteWorld
  /** By the names that the script gave them. */
  readonly joinTokens: Map<string, string>
  readonly accounts: Map<string, string>
  /** The watch that was begun last. */
  watch: AsyncIterator<{ readonly type: string; readonly object: KubeObject }> | undefined
}

type Words = readonly string[]

interface Verb {
  /** Resolves with the lines that the script shows below it. */
  readonly run: (stage: Stage, words: Words) => Promise<readonly string[]>
  readonly says: string
}

const VERBS: Readonly<Record<string, Verb>> = {
  'token NAME for NODE': {
    says: 'makes a join token, good once and for that node or pattern',
    run: async ({ site, joinTokens }, [name = '', node = '']) => {
      joinTokens.set(name, (await site.tokens.create({ node, uses: 1 })).text)
      return []
    },
  },
  'join NODE with NAME': {
    says: 'joins with that token, or with what is none',
    run: async ({ site, joinTokens }, [node = '', name = '']) => {
      const { outcome, identity } = await site.join(node, joinTokens.get(name) ?? name)
      return [`${outcome} as ${identity.node}`]
    },
  },
  'forget NODE': {
    says: 'takes its name back from a node',
    run: async ({ site }, [node = '']) => [
      (await site.claims.forget(node)) ? `forgot ${node}` : `${node} was not held`,
    ],
  },
  'wipe NODE': {
    says: 'sets the machine of a node up anew',
    run: async ({ site }, [node = '']) => {
      site.wipe(node)
      return []
    },
  },
  'start NODE': {
    says: 'runs its edge, until it has a link and its endpoint serves',
    run: async ({ site }, [node = '']) => {
      await site.startEdge(node)
      return ['linked, endpoint serving']
    },
  },
  'stop NODE': {
    says: 'ends its edge',
    run: async ({ site }, [node = '']) => {
      await site.stopEdge(node)
      return []
    },
  },
  'account NAME': {
    says: 'makes a ServiceAccount that may do nothing',
    run: async ({ site, accounts }, [name = '']) => {
      accounts.set(name, await site.accountToken(name))
      return []
    },
  },
  'let NAME view': {
    says: 'gives an account the ClusterRole view',
    run: async ({ site, accounts }, [name = '']) => {
      await site.letView(name, accounts.get(name) ?? '')
      return []
    },
  },
  'create RESOURCE NAME': {
    says: 'makes an object in the namespace default, as an administrator',
    run: async ({ site }, [resource = '', name = '']) => {
      await site.admin.resource(resourceOf(resource)).in('default').create(objectOf(resource, name))
      return []
    },
  },
  'delete RESOURCE NAME': {
    says: 'removes it again',
    run: async ({ site }, [resource = '', name = '']) => {
      await site.admin.resource(resourceOf(resource)).in('default').delete(name)
      return []
    },
  },
  'get RESOURCE NAME as ACCOUNT at PLACE': {
    says: 'reads one object',
    run: async (stage, [resource = '', name = '', account = '', place = '']) => {
      const { kind, metadata } = await clientOf(stage, account, place, resource).get(name)
      return [`${kind} ${metadata?.name}`]
    },
  },
  'list RESOURCE as ACCOUNT at PLACE': {
    says: 'lists the namespace default',
    run: async (stage, [resource = '', account = '', place = '']) => {
      const { items } = await clientOf(stage, account, place, resource).list()
      return items.length === 0 ? ['none'] : items.map(({ metadata }) => String(metadata?.name))
    },
  },
  'watch RESOURCE as ACCOUNT at PLACE': {
    says: 'begins a watch of the namespace default, with what is there',
    run: async (stage, [resource = '', account = '', place = '']) => {
      const events = await clientOf(stage, account, place, resource).watch()
      stage.watch = events[Symbol.asyncIterator]()
      return []
    },
  },
  event: {
    says: 'waits for the next event of that watch',
    run: async ({ watch }) => {
      const next = await watch?.next()
      if (next === undefined || next.done === true) return ['the watch has ended']
      return [`${next.value.type} ${next.value.object.metadata?.name}`]
    },
  },
  'dial TARGET from NODE': {
    says: 'asks for the API server at a target, by a forward of an edge',
    run: async ({ site }, [target = '', node = '']) => [await site.dial(node, target)],
  },
}

/** The lines to show; what was refused is one of them. Rejects where the script itself is at fault. */
export async function runLine(stage: Stage, line: string): Promise<readonly string[]> {
  const given = line.split(' ')
  const found = Object.entries(VERBS).find(([usage]) => fits(usage.split(' '), given))
  if (found === undefined) throw new Error(`no verb fits ${JSON.stringify(line)}; there are:\n${usages()}`)
  const [usage, verb] = found
  const words = given.filter((_word, index) => isPlaceholder(usage.split(' ')[index]))
  try {
    return await verb.run(stage, words)
  } catch (error) {
    if (error instanceof JoinError) return [`refused: ${error.code}`]
    if (error instanceof ApiError) return [`${error.code} ${error.reason}: ${error.message}`]
    throw error
  }
}

function fits(usage: Words, given: Words): boolean {
  return usage.length === given.length && usage.every((word, index) => isPlaceholder(word) || word === given[index])
}

function isPlaceholder(word: string | undefined): boolean {
  return word !== undefined && word === word.toUpperCase()
}

function usages(): string {
  return Object.entries(VERBS)
    .map(([usage, { says }]) => `  ${usage}: ${says}`)
    .join('\n')
}

const resources: Readonly<Record<string, Resource>> = { pods, configmaps: configMaps, secrets }

function resourceOf(name: string): Resource {
  const found = resources[name]
  if (found === undefined) throw new Error(`scenarios know ${Object.keys(resources).join(', ')}, and no ${name}`)
  return found
}

function objectOf(resource: string, name: string): KubeObject {
  const spec = resource === 'pods' ? { spec: { containers: [{ name: 'main', image: 'example.com/image' }] } } : {}
  return { metadata: { name }, ...spec }
}

function clientOf({ site, accounts }: Stage, account: string, place: string, resource: string) {
  return site.clientAt(place, accounts.get(account)).resource(resourceOf(resource)).in('default')
}

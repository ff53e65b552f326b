/** What the settings of an edge mean for what it keeps. */
import type { ReplicaSettings } from '../edge/compose-replica.ts'
import { type FeedPattern, FeedPatternError, parseFeedPatterns } from '../edge/replica/feed-patterns.ts'
import { feedPolicy } from '../edge/replica/feed-policy.ts'
import type { ValuesOf } from './config/option.ts'
import type { replicaOptions } from './config/replica.ts'
import { UsageError } from './failure.ts'
import { nearestName } from './nearest.ts'

export function replicaSettings(config: ValuesOf<typeof replicaOptions>): ReplicaSettings {
  const include = patterns('--feeds-include', config.feedsInclude)
  const exclude = patterns('--feeds-exclude', config.feedsExclude)
  return {
    policy: feedPolicy({ mode: config.feeds, include, exclude }),
    keyFile: config.replicaKeyFile,
    tokenGraceMs: config.offlineTokenGrace,
  }
}

function patterns(flag: string, texts: readonly string[]): FeedPattern[] {
  try {
    return parseFeedPatterns(texts, suggest)
  } catch (error) {
    if (error instanceof FeedPatternError) throw new UsageError(`${flag}: ${error.message}`, { cause: error })
    throw error
  }
}

/** All of them would be a long list. */
function suggest(unknown: string, known: readonly string[]): string {
  const nearest = nearestName(unknown, known)
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`
}

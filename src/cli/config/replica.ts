/** Settings of what an edge keeps for the time without a link; those of `edge` and of the edges of `up`. */
import { FEED_MODES } from '../../edge/replica/feed-policy.ts'
import { option, optional } from './option.ts'
import { filePath, listOf, oneOf, period, text } from './values.ts'

export const replicaOptions = {
  feeds: option({
    type: oneOf('what', FEED_MODES),
    default: 'all',
    description:
      'what to keep for when the link is down: all that programs read here, only what kubelet and kube-proxy read (node), or nothing (off)',
  }),
  feedsInclude: option({
    type: listOf(text),
    default: '',
    description:
      'kept in any case: RESOURCE[.GROUP][/NAMESPACE], such as secrets/kube-system, *.cilium.io or */shop; wins over --feeds and --feeds-exclude',
  }),
  feedsExclude: option({
    type: listOf(text),
    default: '',
    description: 'never kept, written in the same way; Events are not either, unless --feeds-include names them',
  }),
  replicaKeyFile: optional({
    type: filePath,
    description:
      'file with a key of 32 bytes or more for what is kept of Secrets and tokens, such as a systemd credential; without it a key of our own lies in --data-dir',
  }),
  offlineTokenGrace: option({
    type: period,
    default: '7d',
    description: 'how long after its end a token that was seen here is good for reading while the link is down',
  }),
}

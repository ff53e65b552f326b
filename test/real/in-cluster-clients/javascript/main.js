// An in-cluster program with the JavaScript client: loadFromCluster, a list, a watch from its version.
// It prints one JSON object a line; the suite beside it says what the lines mean.
import { AuthenticationV1Api, CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node'

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function whoAmI(config) {
  const review = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} })
  say({ step: 'identity', user: review.status.userInfo.username })
}

async function write(core, namespace) {
  const own = { metadata: { name: 'own' }, data: { phase: 'created' } }
  const created = await core.createNamespacedConfigMap({ namespace, body: own })
  const body = { ...created, data: { phase: 'updated' } }
  const updated = await core.replaceNamespacedConfigMap({ namespace, name: 'own', body })
  await core.deleteNamespacedConfigMap({ namespace, name: 'own' })
  say({ step: 'written', phase: updated.data.phase })
}

async function follow(config, core, namespace) {
  const maps = await core.listNamespacedConfigMap({ namespace })
  say({ step: 'watching', names: maps.items.map((item) => item.metadata.name) })
  const { promise: ended, resolve, reject } = withResolvers()
  const onEvent = (type, object) => {
    if (object.metadata.name !== 'signal') return
    if (type === 'DELETED') resolve()
    else say({ step: 'seen', phase: object.data.phase })
  }
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const query = { resourceVersion: maps.metadata.resourceVersion }
  const request = await new Watch(config).watch(path, query, onEvent, (error) =>
    reject(error ?? new Error('the watch ended early')),
  )
  await ended
  say({ step: 'gone' })
  request.abort()
}

function withResolvers() {
  const settle = {}
  const promise = new Promise((resolve, reject) => Object.assign(settle, { resolve, reject }))
  return { promise, ...settle }
}

const config = new KubeConfig()
config.loadFromCluster()
const core = config.makeApiClient(CoreV1Api)
const { namespace } = config.getContextObject(config.getCurrentContext())
await whoAmI(config)
const pods = await core.listNamespacedPod({ namespace })
say({ step: 'pods', names: pods.items.map((pod) => pod.metadata.name) })
await write(core, namespace)
await follow(config, core, namespace)

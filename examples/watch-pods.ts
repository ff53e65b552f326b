/** Lists the pods of the cluster that your kubeconfig points to and follows them: `npx tsx examples/watch-pods.ts` */
import { ConnectionConfigError, KubeClient, loadConnection, pods, Reflector } from '../src/kube/index.ts'

const connection = await loadConnection().catch((error: unknown) => {
  if (!(error instanceof ConnectionConfigError)) throw error
  console.error(error.message)
  process.exit(1)
})
const client = new KubeClient(connection)
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())

for await (const change of new Reflector(client.resource(pods)).notifications(stop.signal)) {
  if (change.type === 'synced') console.log('that is all for now; watching')
  else if (change.type === 'failed') console.error(`${String(change.error)}; next try in ${change.retryInMs} ms`)
  else console.log(change.type, change.object.metadata?.namespace, change.object.metadata?.name)
}
await client.close()

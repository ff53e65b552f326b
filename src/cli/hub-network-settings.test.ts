import { describe, expect, it } from 'vitest'
import type { KubeClient } from '../kube/client/client.ts'
import type { ClusterConfig } from './config/hub.ts'
import { networkSettings } from './hub-network-settings.ts'

const client = { connection: { server: 'https://127.0.0.1:6443' } } as unknown as KubeClient

function settings(fronts: Partial<Pick<ClusterConfig, 'connectFront' | 'grpcFront'>>) {
  const lists = { apiserver: [], allowTarget: [], serviceCidr: [], konnectivityAgentServiceAccount: [] }
  const config = { ...lists, connectFront: [], grpcFront: [], ...fronts } as unknown as ClusterConfig
  return networkSettings(config, client)
}

describe('a front on a unix socket', () => {
  it('may be for a group, from a flag and from a file', () => {
    const { connectFronts, grpcFronts } = settings({
      connectFront: ['unix:/run/a', 'group=0', 'unix:/run/b', 'unix:/run/c,group=root'],
      grpcFront: ['unix:/run/d', 'group=7'],
    })
    expect(connectFronts).toEqual([
      { kind: 'unix', path: '/run/a', groupId: 0 },
      { kind: 'unix', path: '/run/b' },
      { kind: 'unix', path: '/run/c', groupId: 0 },
    ])
    expect(grpcFronts).toEqual([{ kind: 'unix', path: '/run/d', groupId: 7 }])
  })

  it.each([
    [['unix:'], '--connect-front: unix: needs a path'],
    [['unix:', 'group=0'], '--connect-front: unix: needs a path'],
    [['group=0'], '--connect-front: group=0 has to follow a socket: unix:PATH or unix:PATH,group=GROUP'],
    [['unix:/a', 'group='], '--connect-front unix:/a,group=: group= needs the name or the number of a group'],
    [['unix:/a', 'group=0', 'group=1'], '--connect-front unix:/a,group=0,group=1: a socket has one group'],
    [['unix:/a', 'group=no such'], '--connect-front unix:/a,group=no such: there is no group "no such" in /etc/group'],
  ])('is refused where it is not clear: %j', (connectFront, problem) => {
    expect(() => settings({ connectFront })).toThrow(problem)
  })

  it('is all that the other protocol is served on', () => {
    expect(() => settings({ grpcFront: ['127.0.0.1:1'] })).toThrow(
      '--grpc-front: 127.0.0.1:1 is not of the form unix:PATH or unix:PATH,group=GROUP',
    )
  })
})

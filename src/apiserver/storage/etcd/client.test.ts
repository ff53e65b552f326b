import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../runtime/clock.ts'
import { StoreUnavailableError, StoreUsageError } from '../store-errors.ts'
import { EtcdClient } from './client.ts'
import { RANGE } from './messages.ts'

describe('EtcdClient', () => {
  it.each([[[]], [['127.0.0.1:2379']], [['https://etcd']], [['ftp://etcd:1']], [['http://etcd:2379/v3']]])(
    'refuses the endpoints %j',
    (endpoints) => {
      expect(() => new EtcdClient({ endpoints }, systemClock)).toThrow(StoreUsageError)
    },
  )

  it('refuses half a client certificate', () => {
    const options = { endpoints: ['https://etcd:2379'], tls: { cert: Buffer.from('x') } }
    expect(() => new EtcdClient(options, systemClock)).toThrow('a key its certificate')
  })

  it('ends a call that waits for a connection when it is closed', async () => {
    const client = new EtcdClient({ endpoints: ['http://127.0.0.1:1'] }, systemClock)
    const call = client.call(RANGE, {})
    client.close()
    await expect(call).rejects.toBeInstanceOf(StoreUnavailableError)
    await expect(client.call(RANGE, {})).rejects.toBeInstanceOf(StoreUnavailableError)
  })
})

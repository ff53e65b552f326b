import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { catchTheRest } from './run-role.ts'

it('what no net has caught is told, and the process goes on until it is released', () => {
  const signals = new EventEmitter()
  const told: unknown[] = []
  const net = { caught: (place: string, error: unknown) => told.push([place, error]) }
  const release = catchTheRest({ signals }, net as never)
  signals.emit('uncaughtException', 'a')
  signals.emit('unhandledRejection', 'b')
  expect(told).toEqual([
    ['process', 'a'],
    ['process', 'b'],
  ])
  release()
  expect(signals.eventNames()).toEqual([])
})

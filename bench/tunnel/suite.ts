/** The measurements, each taken from all contestants in turns, so that a busy machine disturbs them alike. */
import type { Contestant, Via } from './contestants.ts'
import type { DriverApi } from './driver.ts'
import type { Door } from './line.ts'
import type { OriginApi } from './origin.ts'
import { cpuMs, residentMiB } from './processes.ts'
import type { Client } from './rpc.ts'
import type { Table } from './table.ts'

const readyLimitMs = 40_000
/** Closed streams are cleared away, buffers returned. */
const settleMs = 300
/** Round trips for windows to grow before anything counts. */
const warmUpRoundTrips = 20
const healthyStreams = 50
const opensAtATime = 16

export interface Settings {
  readonly ms: number
  readonly rounds: number
  readonly streamCounts: readonly number[]
}

export interface Bench {
  readonly contestants: readonly Contestant[]
  readonly driver: Client<DriverApi>
  readonly origin: Client<OriginApi>
  readonly ports: { readonly port: number; readonly greetingPort: number }
  readonly table: Table
  readonly settings: Settings
}

/** Connects every far side anew and waits until each carries a stream. */
export async function reachAll({ contestants, driver, ports }: Bench, via: Via): Promise<void> {
  for (const contestant of contestants) {
    await contestant.reach(via)
    const untilMs = performance.now() + readyLimitMs
    const door = contestant.door(ports.port)
    while (!(await carries(driver, door))) {
      if (performance.now() > untilMs) throw new Error(`${contestant.name} carries nothing`)
      await pause(200)
    }
  }
}

export async function measureBulk(bench: Bench, rttMs: number): Promise<void> {
  for (const streams of [1, 16]) {
    for (const direction of ['up', 'down'] as const) {
      await inTurns(bench, async (contestant) => {
        const { perSecond, perCpuSecond } = await bulkOnce(bench, contestant, streams, direction, rttMs)
        const name = `bulk ${direction}, ${streams} streams, ${rttMs} ms`
        bench.table.add(`${name}, MB/s`, 'more', contestant.name, perSecond)
        bench.table.add(`${name}, MB/CPU s`, 'more', contestant.name, perCpuSecond)
      })
    }
  }
}

async function bulkOnce(
  { driver, origin, ports, settings }: Bench,
  contestant: Contestant,
  streams: number,
  direction: 'up' | 'down',
  rttMs: number,
) {
  await driver.bulk({ door: contestant.door(ports.port), streams, direction })
  await pause(settings.ms / 2 + rttMs * warmUpRoundTrips)
  const look = async () => ({
    bytes: direction === 'up' ? (await origin.counts()).sunkBytes : await driver.received(),
    cpu: cpuMs(contestant.processes()),
    ms: performance.now(),
  })
  const before = await look()
  await pause(settings.ms)
  const after = await look()
  await driver.closeAll()
  await pause(settleMs + rttMs)
  const megabytes = (after.bytes - before.bytes) / 1e6
  return {
    perSecond: (megabytes * 1000) / (after.ms - before.ms),
    perCpuSecond: (megabytes * 1000) / Math.max(10, after.cpu - before.cpu),
  }
}

export async function measureLatency(bench: Bench): Promise<void> {
  const { driver, ports, table, settings } = bench
  for (const streams of [1, 64]) {
    await inTurns(bench, async ({ name, door }) => {
      const { p50Ms, p99Ms } = await driver.echo({ door: door(ports.port), streams, ms: settings.ms })
      table.add(`echo, ${streams} streams, p50 ms`, 'less', name, p50Ms)
      table.add(`echo, ${streams} streams, p99 ms`, 'less', name, p99Ms)
      await pause(settleMs)
    })
  }
}

export async function measureOpens(bench: Bench, rttMs: number): Promise<void> {
  const { driver, ports, table, settings, contestants } = bench
  // The first thousands of opens show how fast a process compiles its code, not how fast it opens.
  for (const { door } of contestants)
    await driver.opens({ door: door(ports.port), atATime: opensAtATime, ms: settings.ms })
  await inTurns(bench, async ({ name, door, processes }) => {
    const one = await driver.opens({ door: door(ports.port), atATime: 1, ms: settings.ms })
    table.add(`open to first echo, ${rttMs} ms, p50 ms`, 'less', name, one.p50Ms)
    if (rttMs > 0) return
    const startCpuMs = cpuMs(processes())
    const many = await driver.opens({ door: door(ports.port), atATime: opensAtATime, ms: settings.ms })
    const usedCpuMs = Math.max(10, cpuMs(processes()) - startCpuMs)
    table.add(`opens, ${opensAtATime} at a time, per s`, 'more', name, many.perSecond)
    table.add(`opens, ${opensAtATime} at a time, per CPU s`, 'more', name, (many.count * 1000) / usedCpuMs)
    await pause(settleMs)
  })
}

/** Some do not get over it: all are to be reached anew before each. */
export async function measureStall(bench: Bench, side: 'client' | 'origin'): Promise<void> {
  const { driver, ports, table, settings, contestants } = bench
  for (const { name, door } of contestants) {
    const options = { door: door(ports.port), streams: healthyStreams, ms: settings.ms, side }
    const { alone, beside, newOpened } = await driver.stall(options)
    const row = `${healthyStreams} beside a stalled ${side}`
    table.add(`${healthyStreams} alone, p99 ms`, 'less', name, alone.p99Ms)
    table.add(`${row}, p99 ms`, 'less', name, beside.p99Ms)
    table.add(`${row}, echoes/s`, 'more', name, (beside.count * 1000) / settings.ms)
    table.add(`${row}, new opens (1 = yes)`, 'more', name, newOpened ? 1 : 0)
  }
}

export async function measureManners(bench: Bench, greetings: number): Promise<void> {
  const { driver, origin, ports, table, contestants } = bench
  for (const { name, door } of contestants) {
    table.add('client half-close kept (1 = yes)', 'more', name, (await driver.halfClose(door(ports.port))) ? 1 : 0)
    const { lateBytes } = await origin.counts()
    await driver.originHalfClose(door(ports.port))
    const isKept = (await origin.counts()).lateBytes > lateBytes
    table.add('origin half-close kept (1 = yes)', 'more', name, isKept ? 1 : 0)
    const greeting = door(ports.greetingPort)
    // The bare relay and a target lead to one place only.
    if (name === 'bare' || greeting.kind !== 'connect') continue
    const { beforeAnswer, withAnswer } = await driver.greetings({ door: greeting, count: greetings })
    table.add(`origin heard before the 200, of ${greetings}`, 'less', name, beforeAnswer)
    table.add(`origin in one read with it, of ${greetings}`, 'less', name, withAnswer)
  }
}

/** `doors` of a contestant are used in equal parts where one alone does not admit so many. */
export async function measureMemory(bench: Bench, doorsOf: (contestant: Contestant) => readonly Door[]): Promise<void> {
  const { driver, table, settings } = bench
  for (const contestant of bench.contestants) {
    if (contestant.name === 'target') continue
    const doors = doorsOf(contestant)
    let held = 0
    for (const count of settings.streamCounts) {
      const each = Math.ceil((count - held) / doors.length)
      for (const door of doors) held = await driver.hold({ door, streams: Math.min(each, count - held) })
      await pause(settleMs * 5)
      const isShort = held < count
      if (isShort) table.note(`${contestant.name}: only ${held} of ${count} streams could be held`)
      const mebibytes = isShort ? Number.NaN : residentMiB(contestant.processes())
      table.add(`RSS of both sides at ${count} streams, MiB`, 'less', contestant.name, mebibytes)
    }
    await driver.closeAll()
    await pause(settleMs * 5)
  }
}

async function inTurns({ contestants, settings, table }: Bench, measure: (c: Contestant) => Promise<void>) {
  for (let round = 0; round < settings.rounds; round++) {
    for (const contestant of contestants) {
      try {
        await measure(contestant)
      } catch (error) {
        table.note(`${contestant.name} failed: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
}

async function carries(driver: Client<DriverApi>, door: Door): Promise<boolean> {
  try {
    await driver.echo({ door, streams: 1, ms: 1 })
    return true
  } catch {
    return false
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/**
 * Loaded into a server under test by `--import`: tells, between `start` and `stop`, the longest turn of its event loop, in
 * processor time of that thread, so that a busy machine makes no turn longer. While it measures the loop never rests.
 */
import { openSync, readSync } from 'node:fs'

const nanosecondsPerMs = 1e6

/** Linux tells the time of one thread; elsewhere the smaller of the clock's and the whole process's is near enough. */
function threadTime() {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r')
    const bytes = Buffer.alloc(128)
    return () => Number.parseInt(bytes.toString('latin1', 0, readSync(file, bytes, 0, 128, 0)), 10) / nanosecondsPerMs
  } catch {
    return undefined
  }
}

function otherTime() {
  let [clockMs, processMs, sumMs] = [performance.now(), 0, 0]
  return () => {
    const { user, system } = process.cpuUsage()
    const [nextClockMs, nextProcessMs] = [performance.now(), (user + system) / 1000]
    sumMs += Math.min(nextClockMs - clockMs, nextProcessMs - processMs)
    clockMs = nextClockMs
    processMs = nextProcessMs
    return sumMs
  }
}

const timeMs = threadTime() ?? otherTime()
let isMeasuring = false
let lastMs = 0
let longestMs = 0

function turn() {
  const nowMs = timeMs()
  longestMs = Math.max(longestMs, nowMs - lastMs)
  lastMs = nowMs
  if (isMeasuring) setImmediate(turn)
}

process.on('message', (message) => {
  if (message === 'start') {
    isMeasuring = true
    longestMs = 0
    lastMs = timeMs()
    setImmediate(turn)
    process.send({ started: true })
  } else if (message === 'stop') {
    isMeasuring = false
    turn()
    process.send({ longestMs })
  }
})
process.channel?.unref()
// A server whose test has gone would never rest again.
process.on('disconnect', () => process.exit(1))

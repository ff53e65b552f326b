/** The other thread: says that it is there, takes a task, performs it, says what came of it. */
import { parentPort } from 'node:worker_threads'
import { type HeavyMessage, type HeavyTask, performTask } from './heavy-task.ts'

const say = (message: HeavyMessage): void => parentPort?.postMessage(message)
parentPort?.on('message', (task: HeavyTask) => say(performTask(task)))
say('ready')

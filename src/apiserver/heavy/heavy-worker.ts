/** The other thread: takes a task, performs it, says what came of it. */
import { parentPort } from 'node:worker_threads'
import { type HeavyTask, performTask } from './heavy-task.ts'

parentPort?.on('message', (task: HeavyTask) => parentPort?.postMessage(performTask(task)))

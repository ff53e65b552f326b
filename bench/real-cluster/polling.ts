/** Asking again and again, where nobody says when something has happened. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Polling {
  readonly pollMs: number
  readonly patienceMs: number
}

/** Resolves with the first answer that is enough, or with the last one when patience is at its end: whoever asks has to look. */
export async function poll<T>(
  ask: () => Promise<T>,
  isEnough: (answer: T) => boolean,
  { pollMs, patienceMs }: Polling,
): Promise<T> {
  const untilMs = performance.now() + patienceMs
  let answer = await ask()
  while (!isEnough(answer) && performance.now() < untilMs) {
    await sleep(pollMs)
    answer = await ask()
  }
  return answer
}

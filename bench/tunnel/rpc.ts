/** Calls from the bench to the processes it made of itself: a message with a name and arguments, and one with the result. */
import type { ChildProcess } from 'node:child_process'

interface Call {
  readonly id: number
  readonly name: string
  readonly argument: unknown
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

/** Functions of one argument, which like the result is plain data. */
export type Api = Readonly<Record<string, (argument: never) => unknown>>

export type Client<A extends Api> = {
  readonly [K in keyof A]: (...argument: Parameters<A[K]>) => Promise<Awaited<ReturnType<A[K]>>>
}

/** In the child. */
export function serveCalls(api: Api): void {
  process.on('message', (call: Call) => {
    void answer(api, call).then((result) => process.send?.(result))
  })
}

async function answer(api: Api, { id, name, argument }: Call): Promise<Answer> {
  try {
    const method = api[name] as ((argument: unknown) => unknown) | undefined
    if (method === undefined) throw new Error(`nothing here is called ${name}`)
    return { id, result: await method(argument) }
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) }
  }
}

/** In the parent. */
export function callsTo<A extends Api>(child: ChildProcess): Client<A> {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let lastId = 0
  child.on('message', ({ id, result, error }: Answer) => {
    if (error === undefined) waiting.get(id)?.resolve(result)
    else waiting.get(id)?.reject(new Error(error))
    waiting.delete(id)
  })
  child.on('exit', (code) => {
    for (const each of waiting.values()) each.reject(new Error(`a process of the bench ended with ${code}`))
  })
  const call = (name: string, argument: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      lastId += 1
      waiting.set(lastId, { resolve, reject })
      child.send({ id: lastId, name, argument } satisfies Call)
    })
  // A promise looks for `then` in whatever it is given.
  const get = (_: object, name: string | symbol) =>
    typeof name === 'string' && name !== 'then' ? (argument: unknown) => call(name, argument) : undefined
  return new Proxy({}, { get }) as Client<A>
}

/** How long a task may take, told from its size before anybody has worked on it. */
import { countJsonValues } from '../objects/json-values.ts'
import type { HeavyTask } from './heavy-task.ts'

/** Bytes of all that a short task is about. */
export const MAX_SHORT_TASK_BYTES = 512 * 1024
/** Values in it: each is given defaults, checked, and may be wrong in several ways. A tenth of a second on a slow core. */
export const MAX_SHORT_TASK_VALUES = 5_000
/** A character of YAML takes as long to read as this many of JSON; no other body is counted without being read. */
export const MAX_SHORT_YAML_BYTES = 32 * 1024
/** No value takes less than two bytes in protobuf. */
const minProtobufValueBytes = 2

export function isShort(task: HeavyTask): boolean {
  switch (task.step) {
    case 'read':
      return isShortBody(task.body)
    case 'patch':
      // A few copies of copies make much of little.
      return task.patch.type !== 'json' && isShortJson(task.patch.bytes, task.old)
    case 'finish':
      if (task.object.length > MAX_SHORT_TASK_BYTES) return false
      return isShortJson(Buffer.from(task.object), ...(task.old === undefined ? [] : [task.old]))
    case 'encode':
      return (
        task.json.length <= (task.form === 'yaml' ? MAX_SHORT_YAML_BYTES : MAX_SHORT_TASK_BYTES) &&
        isShortJson(task.json)
      )
    case 'convert':
    case 'row':
      return isShortJson(task.json)
    default:
      // The documents of all groups.
      return false
  }
}

function isShortBody({ bytes, encoding }: { readonly bytes: Uint8Array; readonly encoding: string }): boolean {
  if (encoding === 'yaml') return bytes.length <= MAX_SHORT_YAML_BYTES
  if (encoding === 'protobuf') return bytes.length <= minProtobufValueBytes * MAX_SHORT_TASK_VALUES
  return isShortJson(bytes)
}

function isShortJson(...texts: readonly Uint8Array[]): boolean {
  let [bytes, values] = [0, 0]
  for (const text of texts) {
    bytes += text.length
    if (bytes > MAX_SHORT_TASK_BYTES) return false
    values += countJsonValues(text, MAX_SHORT_TASK_VALUES)
    if (values > MAX_SHORT_TASK_VALUES) return false
  }
  return true
}

import { expect, it } from 'vitest'
import type { HeavyTask } from './heavy-task.ts'
import { isShort, MAX_SHORT_TASK_BYTES, MAX_SHORT_TASK_VALUES, MAX_SHORT_YAML_BYTES } from './task-size.ts'

const resource = { group: '', version: 'v1', resource: 'configmaps' }
const text = (bytes: number): Buffer => Buffer.from(JSON.stringify('x'.repeat(bytes - 2)))
const list = (values: number): Buffer => Buffer.from(`[${Array.from({ length: values - 1 }, () => '1').join()}]`)
const context = { nowMs: 0, user: { name: 'x', uid: '', groups: [], extra: {} }, subresource: '' }

function read(bytes: Buffer, encoding: 'json' | 'yaml' | 'protobuf'): HeavyTask {
  return { step: 'read', resource, body: { bytes, encoding, validation: 'Warn' } }
}

function patch(type: 'json' | 'merge', bytes: Buffer, old: Buffer): HeavyTask {
  return { step: 'patch', resource, patch: { bytes, type, validation: 'Warn' }, old }
}

it.each<[string, HeavyTask, boolean]>([
  ['a body of many bytes', read(text(MAX_SHORT_TASK_BYTES), 'json'), true],
  ['a body of more', read(text(MAX_SHORT_TASK_BYTES + 1), 'json'), false],
  ['many values', read(list(MAX_SHORT_TASK_VALUES), 'json'), true],
  ['more values', read(list(MAX_SHORT_TASK_VALUES + 2), 'json'), false],
  ['some YAML', read(text(MAX_SHORT_YAML_BYTES), 'yaml'), true],
  ['long YAML', read(text(MAX_SHORT_YAML_BYTES + 1), 'yaml'), false],
  ['long protobuf', read(text(2 * MAX_SHORT_TASK_VALUES + 1), 'protobuf'), false],
  ['a patch', patch('merge', text(10), text(1_000)), true],
  ['a patch of something large', patch('merge', text(10), text(MAX_SHORT_TASK_BYTES)), false],
  ['a patch that may grow', patch('json', text(10), text(1_000)), false],
  ['a create', { step: 'finish', resource, object: '{}', context }, true],
  ['a large create', { step: 'finish', resource, object: text(MAX_SHORT_TASK_BYTES + 1).toString(), context }, false],
  [
    'an update of something large',
    { step: 'finish', resource, object: '{}', old: text(MAX_SHORT_TASK_BYTES), context },
    false,
  ],
  ['a conversion', { step: 'convert', json: text(MAX_SHORT_TASK_BYTES), apiVersion: 'v1' }, true],
  ['an answer', { step: 'encode', json: text(MAX_SHORT_TASK_BYTES), form: 'protobuf' }, true],
  ['an answer in YAML', { step: 'encode', json: text(MAX_SHORT_TASK_BYTES), form: 'yaml' }, false],
])('%s', (_, task, expected) => {
  expect(isShort(task)).toBe(expected)
})

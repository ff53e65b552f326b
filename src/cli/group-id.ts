/** Groups of this machine by name or number, as `chgrp` takes them. */
import { readFileSync } from 'node:fs'

const systemGroups = '/etc/group'
/** The largest group: the number after it means "no change" to the system. */
const maxGroupId = 0xff_ff_ff_fe

/** Throws an error that says what is wrong with the text. */
export function readGroupId(text: string, file = systemGroups): number {
  if (text === '') throw new Error('group= needs the name or the number of a group')
  if (/^\d+$/.test(text)) {
    const id = Number(text)
    if (id > maxGroupId) throw new Error(`${text} is not the number of a group: the largest is ${maxGroupId}`)
    return id
  }
  // Each line is NAME:PASSWORD:NUMBER:MEMBERS.
  const fields = readGroups(file).map((line) => line.split(':'))
  const found = fields.find(([name, , id = '']) => name === text && /^\d+$/.test(id))
  if (found === undefined)
    throw new Error(`there is no group ${JSON.stringify(text)} in ${file}; a group from elsewhere needs its number`)
  return Number(found[2])
}

function readGroups(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch (error) {
    throw new Error(`cannot look up names of groups: ${(error as Error).message}; use its number`, { cause: error })
  }
}

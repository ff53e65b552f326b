/** Whether there is a program of that name, by the rules of a shell: what is started by way of others must be looked for first. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'

/** Exit code for a program that is there and cannot be run, as shells say it. */
const EXIT_NOT_EXECUTABLE = 126
const EXIT_NOT_FOUND = 127

export interface ProgramProblem {
  readonly exitCode: number
  readonly message: string
}

/** `undefined` if it can be started. */
export function programProblem(name: string, path: string, workingDir: string): ProgramProblem | undefined {
  const isPath = name.includes('/')
  const places = isPath
    ? [resolve(workingDir, name)]
    : path.split(delimiter).map((folder) => placeOf(folder, name, workingDir))
  const kinds = name === '' ? [] : places.map(kindOf)
  if (kinds.includes('program')) return undefined
  if (kinds.includes('no-program'))
    return { exitCode: EXIT_NOT_EXECUTABLE, message: `${name} is there, but this user may not run it` }
  const where = isPath ? 'there is no such file' : 'no folder of PATH has it'
  return { exitCode: EXIT_NOT_FOUND, message: `${name === '' ? 'the empty name' : name} is no program: ${where}` }
}

/** An empty part of PATH means the folder one is in. */
function placeOf(folder: string, name: string, workingDir: string): string {
  return isAbsolute(folder) ? join(folder, name) : resolve(workingDir, folder, name)
}

function kindOf(place: string): 'program' | 'no-program' | 'absent' {
  try {
    // A folder of that name in PATH hides nothing.
    if (!statSync(place).isFile()) return 'absent'
  } catch {
    return 'absent'
  }
  try {
    accessSync(place, constants.X_OK)
    return 'program'
  } catch {
    return 'no-program'
  }
}

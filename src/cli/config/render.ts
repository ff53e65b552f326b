/**
 * Shows a role's configuration with the source of every value. The YAML form is itself a valid configuration file.
 */
import { stringify } from 'yaml'
import { type OutputFormat, renderTable } from '../output.ts'
import type { Setting } from './load.ts'
import { flagOf, type PlainValue, type Role, variableOf } from './option.ts'

export function renderSettings(role: Role, settings: readonly Setting[], format: OutputFormat): string {
  return RENDERERS[format](role, settings)
}

const RENDERERS: Readonly<Record<OutputFormat, (role: Role, settings: readonly Setting[]) => string>> = {
  wide: renderWide,
  yaml: renderYaml,
  json: renderJson,
}

function renderWide(role: Role, settings: readonly Setting[]): string {
  const rows = settings.map(({ key, shown, origin }) => {
    const value = shown === undefined ? '-' : inline(shown)
    return [key, value, origin, flagOf(key), variableOf(role, key)]
  })
  return renderTable(['KEY', 'VALUE', 'SOURCE', 'FLAG', 'ENVIRONMENT'], rows)
}

function renderJson(_role: Role, settings: readonly Setting[]): string {
  const entries = settings.map(({ key, shown, origin }) => [key, { value: shown ?? null, source: origin }] as const)
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
}

function renderYaml(role: Role, settings: readonly Setting[]): string {
  const lines = settings.map(({ key, shown, origin }) => {
    // A secret that is not shown must not be taken for its value by whoever reads the file back.
    const commentedOut = shown === undefined || role.options[key]?.secret === true
    const value = shown === undefined ? '' : ` ${inline(shown)}`
    return { text: `${commentedOut ? '# ' : ''}${key}:${value}`, origin }
  })
  const width = Math.max(...lines.map(({ text }) => text.length))
  return lines.map(({ text, origin }) => `${text.padEnd(width)}  # ${origin}\n`).join('')
}

function inline(value: PlainValue): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()
}

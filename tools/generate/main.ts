/**
 * `npm run generate`: reads the facts of one Kubernetes release from its published Go modules and writes the tables
 * under `data/schema/`. Needs the Go tool to fetch the modules; nothing at run time does.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { SchemaIndex } from '../../src/kube/schema/table.ts'
import { buildCatalogue } from './catalogue.ts'
import { kubernetesVersion, moduleFolder } from './go-modules.ts'
import { readPackages } from './packages.ts'
import { buildTable } from './tables.ts'

const target = fileURLToPath(new URL('../../data/schema/', import.meta.url))
const modules = ['k8s.io/api', 'k8s.io/apimachinery', 'k8s.io/apiextensions-apiserver', 'k8s.io/kube-aggregator']

/** One entry a line, so that a change of release reads well in a diff. */
function compactJson(value: object): string {
  const lines = Object.entries(value).map(([key, entry]) => {
    if (key !== 'messages' && key !== 'packages' && key !== 'groups')
      return `${JSON.stringify(key)}:${JSON.stringify(entry)}`
    const inner = Array.isArray(entry)
      ? `[\n${entry.map((item) => JSON.stringify(item)).join(',\n')}\n]`
      : `{\n${Object.entries(entry as object)
          .map(([name, row]) => `${JSON.stringify(name)}:${JSON.stringify(row)}`)
          .join(',\n')}\n}`
    return `${JSON.stringify(key)}:${inner}`
  })
  return `{\n${lines.join(',\n')}\n}\n`
}

mkdirSync(target, { recursive: true })
for (const name of readdirSync(target)) rmSync(`${target}${name}`)

const index: SchemaIndex = { kubernetesVersion, packages: {} }
let messages = 0
const packages = readPackages(modules.map(moduleFolder))
for (const source of packages) {
  const table = buildTable(packages, source)
  writeFileSync(`${target}${source.proto.package}.json`, compactJson(table))
  messages += Object.keys(table.messages).length
  if (table.group === null) continue
  index.packages[table.group === '' ? table.version : `${table.group}/${table.version}`] = source.proto.package
}
writeFileSync(`${target}index.json`, compactJson(index))
const catalogue = buildCatalogue(moduleFolder('k8s.io/kubernetes'))
writeFileSync(`${target}catalogue.json`, compactJson(catalogue))
console.log(`${kubernetesVersion}: ${messages} messages, ${catalogue.groups.length} group versions`)

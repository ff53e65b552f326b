/** Walks the Go modules and pairs each `generated.proto` with the Go sources beside it. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { emptyGoPackage, type GoPackage, type GoStruct, readGoFile } from './go-structs.ts'
import { type ProtoFile, parseProto } from './proto-file.ts'

export interface SourcePackage {
  readonly proto: ProtoFile
  readonly go: GoPackage
}

/** Packages that are of no use to an API server or its clients. */
const left = new Set(['k8s.io.apimachinery.pkg.apis.testapigroup.v1'])

export function readPackages(moduleFolders: readonly string[]): SourcePackage[] {
  const packages: SourcePackage[] = []
  for (const folder of moduleFolders) {
    for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
      if (!path.endsWith('generated.proto')) continue
      const source = readPackage(join(folder, dirname(path)))
      if (!left.has(source.proto.package)) packages.push(source)
    }
  }
  return packages
}

/** The struct behind a Go type name, following `type A b.C` into other packages. */
export function findStruct(
  packages: readonly SourcePackage[],
  home: SourcePackage,
  name: string,
): GoStruct | undefined {
  const own = home.go.structs.get(name)
  if (own !== undefined) return own
  const [alias, foreignName] = home.go.named.get(name)?.split('.') ?? []
  const path = alias === undefined ? undefined : home.go.imports.get(alias)
  if (path === undefined || foreignName === undefined) return undefined
  const protoPackage = path.replaceAll('/', '.').replaceAll('-', '_')
  const foreign = packages.find(({ proto }) => proto.package === protoPackage)
  return foreign === undefined ? undefined : findStruct(packages, foreign, foreignName)
}

function readPackage(folder: string): SourcePackage {
  const proto = parseProto(readFileSync(join(folder, 'generated.proto'), 'utf8'))
  const go = emptyGoPackage()
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith('.go') || name.endsWith('_test.go') || /generated/.test(name)) continue
    readGoFile(readFileSync(join(folder, name), 'utf8'), go)
  }
  return { proto, go }
}

/**
 * What is running. The package's own manifest is the one place that knows the version.
 */
import { readFileSync } from 'node:fs'
import type { BuildInfo } from '../telemetry/metrics.ts'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as BuildInfo

export const BUILD: BuildInfo = { version: manifest.version }

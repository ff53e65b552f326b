/**
 * Reads the metrics of a program from its registries and writes them as docs/metrics.md. What is said of a metric is what
 * it says of itself to whoever scrapes it.
 */
import type { Registry } from 'prom-client'

export interface Metric {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
  readonly help: string
}

/** The metrics of one part of the program. */
export interface MetricSection {
  readonly title: string
  readonly metrics: readonly Metric[]
}

/** What every process of this runtime tells, by prom-client; which ones depends on the system. */
const ofTheRuntime = /^(process|nodejs)_/

export function metricsOf(registry: Registry): Metric[] {
  const listed = registry.getMetricsAsArray() as unknown as (Metric & { readonly labelNames?: readonly string[] })[]
  return listed
    .filter(({ name }) => !ofTheRuntime.test(name))
    .map(({ name, type, help, labelNames = [] }) => ({
      name,
      type,
      help,
      labels: labelNames.filter((each) => each !== 'le'),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

export function renderMetrics(sections: readonly MetricSection[]): string {
  const lines = [
    '# Metrics',
    '',
    'In the Prometheus text format at `/metrics`: on the health address of every role without authentication, and on the',
    "API server's own port for those who may `get` it. This page is written from the sources by `npm run generate:metrics`;",
    'a test fails when it is out of date.',
    '',
    'Names that do not begin with `causeway_` are those of kube-apiserver, with the same meaning and buckets, so that its',
    'dashboards and alerts work here. Labels have few values, known in advance: a resource that is not built in, a path or a user',
    'that somebody makes up is an empty label or `other`.',
    '',
    'Besides these, every process has the `process_*` and `nodejs_*` metrics of prom-client: CPU, memory, open files, event',
    'loop, garbage collection.',
  ]
  for (const { title, metrics } of sections) {
    lines.push('', `## ${title}`, '', '| metric | type | labels | meaning |', '|---|---|---|---|')
    for (const { name, type, labels, help } of metrics) {
      lines.push(`| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`)
    }
  }
  return `${lines.join('\n')}\n`
}

const importsPromClient = /\bfrom 'prom-client'/
const metricName = /'((?:causeway|apiserver|authentication|authenticated|authorization)_[a-z0-9_]+)'/g

/** The names of the metrics that a source makes: they stand in it as plain text, so that a search finds them. */
export function metricNamesIn(source: string): string[] {
  if (!importsPromClient.test(source)) return []
  return [...source.matchAll(metricName)].map(([, name = '']) => name)
}

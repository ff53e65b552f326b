/**
 * Objects of our own making as a real kube-apiserver sent them back, in JSON and in protobuf. The suite in `test/real`
 * writes the file anew when CAUSEWAY_REWRITE is set; commit a rewrite only if you understand every difference.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Sample {
  readonly json: string
  readonly protobuf: Buffer
}

export const samplesFile = fileURLToPath(new URL('../data/codec-samples.txt', import.meta.url))

/** Two lines a sample: the JSON text, and the protobuf in base64. */
export function formatSamples(samples: readonly Sample[]): string {
  return samples.map(({ json, protobuf }) => `${json}\n${protobuf.toString('base64')}\n`).join('')
}

function readSamples(): Sample[] {
  const lines = readFileSync(samplesFile, 'utf8').trimEnd().split('\n')
  return Array.from({ length: lines.length / 2 }, (_, index) => ({
    json: lines[index * 2] as string,
    protobuf: Buffer.from(lines[index * 2 + 1] as string, 'base64'),
  }))
}

export const samples: readonly Sample[] = readSamples()

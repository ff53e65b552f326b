/** Numbers about the certificates an edge keeps. */
import { Counter, Gauge, type Registry } from 'prom-client'

export type RotationResult = 'renewed' | 'failed' | 'refused'

export interface KeeperMetrics {
  expires(certificate: string, atMs: number): void
  rotation(certificate: string, result: RotationResult): void
  /** Until when the endpoint could go on without a link, by its certificates. */
  goodOffline(untilMs: number | undefined): void
}

export function createKeeperMetrics(registry: Registry): KeeperMetrics {
  const expiry = new Gauge({
    name: 'causeway_edge_certificate_expiry_timestamp_seconds',
    help: 'When the certificate ends, in seconds since the epoch.',
    labelNames: ['certificate'],
    registers: [registry],
  })
  const rotations = new Counter({
    name: 'causeway_edge_rotations_total',
    help: 'Attempts to renew a certificate: renewed, failed (to be repeated), refused (a person has to act).',
    labelNames: ['certificate', 'result'],
    registers: [registry],
  })
  const offline = new Gauge({
    name: 'causeway_edge_good_offline_until_timestamp_seconds',
    help: 'When the first certificate ends that is needed to serve without a link, in seconds since the epoch; 0 while one is missing.',
    registers: [registry],
  })
  return {
    goodOffline: (untilMs = 0) => offline.set(untilMs / 1000),
    expires: (certificate, atMs) => expiry.set({ certificate }, atMs / 1000),
    rotation: (certificate, result) => rotations.inc({ certificate, result }),
  }
}

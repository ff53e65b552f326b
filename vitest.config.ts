import { defineConfig } from 'vitest/config'

// Limits end what hangs; none of them judges how fast a machine is. The long run takes minutes for each property.
const isLong = process.env['CAUSEWAY_LONG'] === '1'
const wholeProcesses = { testTimeout: isLong ? 1_800_000 : 300_000, hookTimeout: isLong ? 1_800_000 : 300_000 }

// Three projects, one runner: `unit` sits beside the sources, `e2e` drives the built command from outside,
// `real` needs the real Kubernetes binaries and is not part of `npm test`.
export default defineConfig({
  test: {
    testTimeout: isLong ? 900_000 : 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    setupFiles: ['test/setup.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src', 'test/attack', 'test/contract', 'test/repository'].map((folder) => `${folder}/**/*.test.ts`),
        },
      },
      { extends: true, test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], ...wholeProcesses } },
      {
        extends: true,
        test: { name: 'real', include: ['test/real/**/*.test.ts'], fileParallelism: false, ...wholeProcesses },
      },
    ],
  },
})

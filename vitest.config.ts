import { defineConfig } from 'vitest/config'
import { slowFiles } from './test/slow-files.ts'

// Limits end what hangs; none of them judges how fast a machine is. The long run takes minutes for each property.
const isLong = process.env['CAUSEWAY_LONG'] === '1'
const wholeProcesses = { testTimeout: isLong ? 1_800_000 : 300_000, hookTimeout: isLong ? 1_800_000 : 300_000 }

// Most of the time of a small test file went into a process and an import of everything of its own. The tests leave nothing
// behind in their process, so that those of `npm test` share one for each core.
const sharedProcesses = { isolate: false, exclude: [...slowFiles] }

// Four projects, one runner, and every test file in exactly one of them: `unit` sits beside the sources, `e2e` drives the
// built command from outside, `slow` has the files of both that take long and are not part of `npm test`, `real` needs
// the real Kubernetes binaries.
export default defineConfig({
  test: {
    testTimeout: isLong ? 900_000 : 60_000,
    hookTimeout: 120_000,
    maxWorkers: '100%',
    expect: { poll: { timeout: 30_000, interval: 20 } },
    restoreMocks: true,
    setupFiles: ['test/setup.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src', 'test/attack', 'test/contract', 'test/integration', 'test/repository', 'test/scenario'].map(
            (folder) => `${folder}/**/*.test.ts`,
          ),
          ...sharedProcesses,
        },
      },
      {
        extends: true,
        test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], ...sharedProcesses, ...wholeProcesses },
      },
      { extends: true, test: { name: 'slow', include: [...slowFiles], ...wholeProcesses } },
      {
        extends: true,
        test: { name: 'real', include: ['test/real/**/*.test.ts'], fileParallelism: false, ...wholeProcesses },
      },
    ],
  },
})

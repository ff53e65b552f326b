/** Heavy work without another thread, for tests of what needs it done. */
import { Maker } from '../../src/apiserver/core/write/maker.ts'
import { performTask } from '../../src/apiserver/heavy/heavy-task.ts'
import { strategyFor } from '../../src/apiserver/kinds/registry.ts'

export const inlineMaker = new Maker({
  heavy: { run: (task) => Promise.resolve(performTask(task)) },
  strategyOf: strategyFor,
})

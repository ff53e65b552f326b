/**
 * An error whose message is written for the person at the terminal: what is wrong, and what to do. Any other error that gets
 * that far is a defect of ours and shows its stack.
 */
export class ExplainedError extends Error {
  override readonly name: string = 'ExplainedError'
}

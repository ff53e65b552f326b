/** Keys of extra attributes inside header names: characters that a name cannot hold are percent-encoded. */

/** What is not well encoded stays as it is. */
export function decodeHeaderKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

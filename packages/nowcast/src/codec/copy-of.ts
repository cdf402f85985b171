/**
 * Copies the bytes into new memory. `slice` is not enough, because for Node's `Buffer` it returns a view of the same
 * memory.
 */
export function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

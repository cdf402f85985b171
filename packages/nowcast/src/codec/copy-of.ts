/** The same bytes in memory of their own. `slice` would do, were it not that Node's `Buffer` gives a view of its memory instead. */
export function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

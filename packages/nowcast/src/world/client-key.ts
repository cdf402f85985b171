/** The key that identifies a client on other connections (`spec/WORLD.md`, section 1). */
export const KEY_BYTES = 16;

/** Makes a random secret, which no other client has. */
export function randomKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(KEY_BYTES));
}

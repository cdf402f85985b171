/** The key that identifies a client on other connections (`spec/WORLD.md`, section 1). */
const KEY_BYTES = 16;

/** Makes a random secret, which no other client has. */
export function randomKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(KEY_BYTES));
}

/** Converts the key to its form in addresses of the plain protocol. */
export function keyText(key: Uint8Array): string {
  return Array.from(key, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

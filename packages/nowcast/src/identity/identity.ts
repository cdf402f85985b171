/** The identity of a client: a private key for each server (`spec/WORLD.md`, section 1). */

/** A public key, and a signature by its private key. */
export interface IdentityProof {
  /** A point on the curve P-256, uncompressed: 65 bytes. */
  readonly key: Uint8Array;
  /** ECDSA with SHA-256: r, then s: 64 bytes. */
  readonly signature: Uint8Array;
}

/**
 * Private keys by which servers recognise a client on every visit. {@link browserIdentity} keeps them in the browser;
 * `fileIdentity` of `nowcast/node` keeps them in a file.
 */
export interface Identity {
  /**
   * Signs a text with the key for a server. There is one key for each server: a server that has relayed a signature to
   * another server could otherwise join there as this client. Resolves to `undefined` if no key can be kept; the client
   * then joins as a guest.
   */
  sign(host: string, text: Uint8Array): Promise<IdentityProof | undefined>;
}

const DATABASE = "nowcast";
const STORE = "identities";
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

/** The text that a client signs: it names the session, which exists once. */
export function identityText(session: Uint8Array): Uint8Array {
  const digits = Array.from(session, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return new TextEncoder().encode(`nowcast identity 1\n${digits}`);
}

/** Signs a text with a key pair of P-256. */
export async function signWith(
  { publicKey, privateKey }: CryptoKeyPair,
  text: Uint8Array,
): Promise<IdentityProof> {
  const { subtle } = crypto;
  const signed = subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, text as BufferSource);
  const [key, signature] = await Promise.all([subtle.exportKey("raw", publicKey), signed]);
  return { key: new Uint8Array(key), signature: new Uint8Array(signature) };
}

/** Makes a key pair. Only an `isExtractable` private key can be stored outside of a browser. */
export function makeKeyPair(isExtractable: boolean): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, isExtractable, ["sign", "verify"]);
}

/**
 * This browser's identity for the page's origin. The private keys stay in the browser's database and cannot be read by
 * scripts. If the browser has no IndexedDB or no Web Crypto (on pages over plain HTTP from other machines), the client joins
 * as a guest.
 *
 * ```ts
 * const world = joinWorld("nowcast://localhost:7777/shop", { name: "Ada", identity: browserIdentity() });
 * ```
 */
export function browserIdentity(): Identity {
  return {
    async sign(host, text) {
      if (globalThis.indexedDB === undefined || globalThis.crypto?.subtle === undefined) return undefined;
      try {
        return await signWith(await keyPairOf(host), text);
      } catch (error) {
        // A browser that keeps no data for this page has no identity.
        if (error instanceof DOMException) return undefined;
        throw error;
      }
    },
  };
}

async function keyPairOf(host: string): Promise<CryptoKeyPair> {
  const database = await opened();
  try {
    const known = await find(database, host);
    if (known !== undefined) return known;
    const made = await makeKeyPair(false);
    const store = database.transaction(STORE, "readwrite").objectStore(STORE);
    // Another tab may have stored a key in the meantime. Then `add` fails, and its key is used.
    const isAdded = await settled(store.add(made, host)).then(
      () => true,
      () => false,
    );
    return isAdded ? made : ((await find(database, host)) ?? made);
  } finally {
    database.close();
  }
}

function opened(): Promise<IDBDatabase> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  return settled(opening);
}

function find(database: IDBDatabase, host: string): Promise<CryptoKeyPair | undefined> {
  return settled(database.transaction(STORE).objectStore(STORE).get(host));
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = (event) => {
      // The failed request must not end the program.
      event.preventDefault();
      reject(request.error ?? new DOMException("the database cannot be used", "UnknownError"));
    };
  });
}

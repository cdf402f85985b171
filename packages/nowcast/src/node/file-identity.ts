/** An identity in a file. */
import { randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { NowcastError } from "../errors/nowcast-error.js";
import { type Identity, makeKeyPair, signWith } from "../identity/identity.js";

/** The keys of a server, in base64. */
interface StoredKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

/**
 * A program's identity, stored in a JSON file that only the user can read. The first key creates the file.
 *
 * ```ts
 * const world = joinWorld("nowcast://localhost:7777/shop", { identity: fileIdentity("identity.json") });
 * ```
 */
export function fileIdentity(path: string): Identity {
  return {
    async sign(host, text) {
      const stored = await read(path);
      const known = stored[host];
      if (known !== undefined) return signWith(await imported(known, path), text);
      const made = await makeKeyPair(true);
      await write(path, { ...stored, [host]: await exported(made) });
      return signWith(made, text);
    },
  };
}

async function read(path: string): Promise<Record<string, StoredKeys>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === "object" && read !== null) return read as Record<string, StoredKeys>;
  } catch {
    // The error below names the file.
  }
  throw damaged(path);
}

/** Writes the file as a whole, so that a program that is killed leaves the old or the new file. */
async function write(path: string, keys: Record<string, StoredKeys>): Promise<void> {
  const unfinished = `${path}.${randomUUID()}`;
  await writeFile(unfinished, `${JSON.stringify(keys, undefined, 2)}\n`, { mode: 0o600 });
  await rename(unfinished, path);
}

async function exported({ publicKey, privateKey }: CryptoKeyPair): Promise<StoredKeys> {
  const [open, secret] = await Promise.all([
    crypto.subtle.exportKey("raw", publicKey),
    crypto.subtle.exportKey("pkcs8", privateKey),
  ]);
  return {
    publicKey: Buffer.from(open).toString("base64"),
    privateKey: Buffer.from(secret).toString("base64"),
  };
}

async function imported(keys: StoredKeys, path: string): Promise<CryptoKeyPair> {
  try {
    const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64"));
    const [publicKey, privateKey] = await Promise.all([
      crypto.subtle.importKey("raw", bytes(keys.publicKey), ALGORITHM, true, ["verify"]),
      crypto.subtle.importKey("pkcs8", bytes(keys.privateKey), ALGORITHM, false, ["sign"]),
    ]);
    return { publicKey, privateKey };
  } catch {
    throw damaged(path);
  }
}

function damaged(path: string): NowcastError {
  return new NowcastError(
    "misuse",
    `${path} is not a file of identities: move it away, and a new one is made with new keys`,
  );
}

/** Tokens: a client's rights and their expiry (JSON Web Tokens, RFC 7519; `spec/CARRIERS.md`, section 7). */
import { createHmac, type KeyObject, timingSafeEqual, verify } from "node:crypto";
import { NowcastError } from "../errors/nowcast-error.js";
import { Refusal } from "./refusal.js";
import { knownToOthers } from "./secret.js";

const TOKEN_BYTES_MAX = 2_048;
const NAME_CHARACTERS_MAX = 64;
const ROLE_CHARACTERS_MAX = 32;
const ID_BYTES_MAX = 64;
/** Largest difference between the clocks of a token's issuer and its verifier. */
const SKEW_S = 5;
/** The length of the hash (RFC 7518, section 3.2). */
const SECRET_BYTES_MIN = 32;

/**
 * The key that verifies tokens: a shared secret for HS256, or an Ed25519 public key for EdDSA. The
 * endpoint chooses the algorithm, never the token.
 */
export type TokenKey =
  /**
   * At least 32 random bytes. They may be a word of text without the line end, such as the output of `openssl rand
   * -base64 32`.
   */
  | { readonly algorithm: "HS256"; readonly secret: Uint8Array }
  | { readonly algorithm: "EdDSA"; readonly key: KeyObject };

export interface Claims {
  readonly exp: number;
  readonly sub: string | undefined;
  readonly role: string | undefined;
  /** Makes the token valid for one entry. */
  readonly jti: string | undefined;
}

/** Rejects invalid keys and public secrets: with a public key as a secret, anyone could sign. */
export function checkKey(key: TokenKey): void {
  if (key.algorithm === "EdDSA") {
    if (key.key.asymmetricKeyType === "ed25519" && key.key.type === "public") return;
    throw new NowcastError(
      "misuse",
      "the key for EdDSA is no Ed25519 public key: see crypto.createPublicKey",
    );
  }
  if (key.algorithm !== "HS256") {
    throw new NowcastError("misuse", "the algorithm of a key for tokens is HS256 or EdDSA");
  }
  const { secret } = key;
  if (!ArrayBuffer.isView(secret) || secret.length < SECRET_BYTES_MIN) {
    throw new NowcastError("misuse", `a secret for tokens has ${SECRET_BYTES_MIN} bytes or more`);
  }
  const known = knownToOthers(secret);
  if (known !== undefined) {
    const cure = "give one word of `openssl rand -base64 32`, or a public key to the algorithm EdDSA";
    throw new NowcastError("misuse", `${known} is not a secret for tokens`, { cure });
  }
}

/** Verifies a token for the name `room`. Throws a {@link Refusal} if it is not valid. */
export function readToken(token: string, key: TokenKey, room: string, nowS: number): Claims {
  if (token.length > TOKEN_BYTES_MAX) throw unauthorised(`the token is longer than ${TOKEN_BYTES_MAX} bytes`);
  const [head, body, signature, ...more] = token.split(".");
  if (head === undefined || body === undefined || signature === undefined || more.length > 0) {
    throw unauthorised("the token is no JSON Web Token");
  }
  const { alg, crit } = readJson(head);
  // RFC 7515, section 4.1.11: an unknown extension that must be understood makes the token invalid.
  if (crit !== undefined) {
    throw unauthorised("the token's header demands an extension (crit) that this endpoint does not know");
  }
  if (alg !== key.algorithm) {
    throw unauthorised("the token is not signed by the algorithm of this endpoint's key");
  }
  if (!isSigned(`${head}.${body}`, Buffer.from(signature, "base64url"), key)) {
    throw unauthorised("the token is not signed with this endpoint's key");
  }
  return checkClaims(readJson(body), room, nowS);
}

function isSigned(text: string, signature: Uint8Array, key: TokenKey): boolean {
  if (key.algorithm === "EdDSA") return verify(null, Buffer.from(text), key.key, signature);
  const expected = createHmac("sha256", key.secret).update(text).digest();
  return expected.length === signature.length && timingSafeEqual(expected, signature);
}

function readJson(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // This is reported below, like all other invalid tokens.
  }
  throw unauthorised("the token is no JSON Web Token");
}

function checkClaims(claims: Record<string, unknown>, room: string, nowS: number): Claims {
  const exp = seconds(claims, "exp");
  const nbf = seconds(claims, "nbf");
  seconds(claims, "iat");
  if (exp === undefined) throw claim("exp");
  if (nowS > exp + SKEW_S) throw unauthorised("the token has expired");
  if (nbf !== undefined && nowS < nbf - SKEW_S) throw unauthorised("the token is not valid yet");
  const only = text(claims, "room", NAME_CHARACTERS_MAX);
  if (only !== undefined && only !== room) throw unauthorised("the token is for another room");
  const sub = text(claims, "sub", NAME_CHARACTERS_MAX);
  // Nobody could tell "Ada " from "Ada", which would be another player with another account.
  if (sub === "" || sub?.trim() !== sub) throw claim("sub");
  const jti = text(claims, "jti", ID_BYTES_MAX);
  if (jti !== undefined && Buffer.byteLength(jti) > ID_BYTES_MAX) throw claim("jti");
  return {
    exp,
    sub,
    role: text(claims, "role", ROLE_CHARACTERS_MAX),
    jti,
  };
}

function seconds(claims: Record<string, unknown>, name: string): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) throw claim(name);
  return Math.floor(value);
}

function text(claims: Record<string, unknown>, name: string, charactersMax: number): string | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  const isText = typeof value === "string" && [...value].length <= charactersMax;
  if (!isText || /\p{Cc}/u.test(value)) throw claim(name);
  return value;
}

function claim(name: string): Refusal {
  return unauthorised(`the token's claim "${name}" is missing or not as it should be`);
}

export function unauthorised(cause: string): Refusal {
  return new Refusal(
    "unauthorised",
    cause,
    "ask the operator for a new token, and connect with it (?token=…)",
  );
}

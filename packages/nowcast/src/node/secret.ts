/** Texts that must not be used as a secret, because they are public. */

/** Prefixes of public keys in one-line form: OpenSSH's kinds, and age. */
const PUBLIC_BEGINNINGS = ["AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNhL", "AAAAGnNrLX", "age1"] as const;
const SSH_LINE = /^(ssh-|ecdsa-sha2-|sk-[^ ]*@openssh\.com)/;
/** The tag of a sequence. Every key in DER begins with it (X.690, section 8.9). */
const DER_SEQUENCE = 0x30;
/**
 * The tags with which the content of a key's sequence begins: a nested sequence, which names the algorithm, or a
 * number.
 */
const DER_INNER: ReadonlySet<number | undefined> = new Set([DER_SEQUENCE, 0x02]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/;

/** Describes the reason why a text cannot be a secret: it is public, or too easy to guess. */
export function knownToOthers(secret: Uint8Array): string | undefined {
  if (secret.every((byte) => byte === secret[0])) return "one byte over and over";
  if (isDer(secret)) return "a key in DER";
  // Zeros are removed, because UTF-16 text without its zeros is ASCII.
  if (Buffer.from(secret).toString("latin1").replaceAll("\0", "").includes("-----BEGIN"))
    return "a key in PEM";
  const text = readableText(secret);
  return text === undefined ? undefined : knownText(text);
}

function knownText(text: string): string | undefined {
  const word = text.replace(/^\ufeff/, "").trim();
  if (/^[{[]/.test(word)) return "a key in JSON";
  if (SSH_LINE.test(word)) return "a public key of OpenSSH";
  if (PUBLIC_BEGINNINGS.some((beginning) => word.startsWith(beginning))) return "a public key";
  if (BASE64.test(word) && isDer(Buffer.from(word, "base64"))) return "a key in DER";
  if (BASE64URL.test(word) && isDer(Buffer.from(word, "base64url"))) return "a key in DER";
  return /\s/.test(text) ? "a text with white space in it" : undefined;
}

/**
 * Returns the text of bytes that are readable text. Random bytes are not: they are invalid UTF-8, or contain control
 * characters.
 */
function readableText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return /[^\P{Cc}\t\n\r]/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * Whether these bytes are exactly one DER sequence, as keys are. Of several million random secrets, about one is such a
 * sequence.
 */
function isDer(bytes: Uint8Array): boolean {
  const [tag, first = 0xff, high = 0, low = 0] = bytes;
  const sizeBytes = first < 0x80 ? 1 : first - 0x7f;
  const length = [first, high, (high << 8) | low][sizeBytes - 1];
  const inner = bytes[1 + sizeBytes];
  return tag === DER_SEQUENCE && length === bytes.length - 1 - sizeBytes && DER_INNER.has(inner);
}

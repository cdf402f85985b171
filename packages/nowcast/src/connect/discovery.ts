/** Requests the carriers that an endpoint offers (`spec/CARRIERS.md`, section 2). */
import { type ErrorCode, NowcastError } from "../errors/nowcast-error.js";
import { type Address, addressUrl, readAddress } from "./address.js";

const ANSWER_BYTES_MAX = 65_536;
const ANSWER_MS_MAX = 10_000;
const HASHES_MAX = 8;
const HASH_BYTES = 32;
const WORDS_MAX = 300;
const OTHERS_MAX = 16;

/** The error codes of section 2, each with the SDK's error code. */
const REFUSALS = [
  "unauthorised",
  "wrong_origin",
  "wrong_host",
  "not_encrypted",
  "no_such_name",
  "too_many",
  "full",
  "bad_request",
] as const satisfies readonly ErrorCode[];

export interface Discovery {
  /** Whether the endpoint accepts WebSockets over the requested scheme. */
  readonly websocket: boolean;
  /** Whether the endpoint accepts WebSockets only over TLS although this request was not encrypted. */
  readonly isOverTlsAlone: boolean;
  readonly webtransport:
    | { readonly port: number; readonly certificateHashes: readonly Uint8Array<ArrayBuffer>[] }
    | undefined;
  /** The endpoint that has the service now, if it is another one. */
  readonly moved: Address | undefined;
  /** The endpoints that may be asked if this one does not answer any more. */
  readonly others: readonly Address[];
}

/**
 * Requests the record. If the endpoint refuses, rejects with the endpoint's text. If the answer is invalid,
 * rejects with its fault.
 */
export async function discover(
  address: Address,
  query: Record<string, string | undefined>,
  signal: AbortSignal,
): Promise<Discovery> {
  const scheme = address.isEncrypted ? "https" : "http";
  const place = `${scheme}://${address.host}:${address.port}`;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
  let response: Response;
  let text: string;
  try {
    const options = { signal: limit, cache: "no-store", credentials: "omit", redirect: "error" } as const;
    response = await fetch(addressUrl(address, scheme, query), options);
    text = await readText(response);
  } catch (error) {
    if (signal.aborted || error instanceof NowcastError) throw signal.reason ?? error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const words = limit.aborted ? `no answer within ${ANSWER_MS_MAX / 1_000} s` : String(cause);
    const code = limit.aborted ? "timed_out" : "unreachable";
    const reason = `no program answers at ${place}: ${words}`;
    throw new NowcastError("network", reason, {
      code,
      cause: error,
      cure: limit.aborted ? undefined : cureIn(place),
    });
  }
  const answer = parse(text);
  if (!response.ok) throw refusal(response.status, answer);
  if (answer?.["nowcast"] !== 1) {
    throw new NowcastError("peer-incompatible", `${place} does not speak version 1 of spec/CARRIERS.md`);
  }
  return {
    websocket: answer["websocket"] === true,
    isOverTlsAlone: answer["secure_websocket"] === true,
    webtransport: readWebTransport(answer["webtransport"]),
    moved: readOrigin(answer["moved"], address),
    others: (Array.isArray(answer["others"]) ? answer["others"] : [])
      .slice(0, OTHERS_MAX)
      .map((origin) => readOrigin(origin, address))
      .filter((other) => other !== undefined),
  };
}

/** Reads the origin of another endpoint in a cluster, such as `http://10.0.0.2:7777`. */
function readOrigin(origin: unknown, { name }: Address): Address | undefined {
  if (typeof origin !== "string") return undefined;
  try {
    return readAddress(`${origin}/nowcast/${name}`);
  } catch {
    throw new NowcastError("peer-misbehaved", "the endpoint names an invalid origin of another endpoint");
  }
}

/**
 * A browser does not report whether the endpoint is down or does not admit the page's origin, so the cure names both.
 */
function cureIn(place: string): string | undefined {
  const origin = typeof location === "undefined" ? place : location.origin;
  return origin === place
    ? undefined
    : `check that it runs with \`--allow-origin ${origin}\` (\`origins\` of \`listen\`)`;
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    bytes += next.value.length;
    if (bytes > ANSWER_BYTES_MAX) {
      void reader?.cancel();
      throw new NowcastError("peer-misbehaved", `an answer of more than ${ANSWER_BYTES_MAX} bytes`);
    }
    text += decoder.decode(next.value, { stream: true });
  }
  return text;
}

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function refusal(status: number, answer: Json | undefined): NowcastError {
  const words = [answer?.["error"], answer?.["cause"], answer?.["cure"]].filter(
    (word): word is string => typeof word === "string",
  );
  const said = words.length === 0 ? "" : `: ${words.join("; ").slice(0, WORDS_MAX)}`;
  const message = `the endpoint refuses (HTTP ${status})${said}`;
  const [, cause, cure] = [answer?.["error"], answer?.["cause"], answer?.["cure"]].map((word) =>
    typeof word === "string" ? word.slice(0, WORDS_MAX) : undefined,
  );
  const code = REFUSALS.find((known) => known === answer?.["error"]);
  return new NowcastError("refused", cause ?? message, { code, cure, message });
}

function readWebTransport(offer: unknown): Discovery["webtransport"] {
  if (!isObject(offer)) return undefined;
  const { port, certificate_hashes: hashes } = offer;
  const isOffer =
    Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536 && Array.isArray(hashes);
  if (!isOffer || hashes.length > HASHES_MAX) throw malformed();
  return { port: Number(port), certificateHashes: hashes.map(readHash) };
}

function readHash(hash: unknown): Uint8Array<ArrayBuffer> {
  try {
    const bytes = Uint8Array.from(atob(String(hash)), (unit) => unit.charCodeAt(0));
    if (bytes.length === HASH_BYTES) return bytes;
  } catch {
    // Text that is not base64 is treated as a hash of the wrong length.
  }
  throw malformed();
}

function malformed(): NowcastError {
  return new NowcastError(
    "peer-misbehaved",
    "the endpoint's offer of WebTransport is not as spec/CARRIERS.md says",
  );
}

/** Who has to change something for this error to go away. */
export type Fault =
  /** The server sent what its protocol does not allow. */
  | "peer-misbehaved"
  /** The server is fine, but speaks a version that this SDK does not. */
  | "peer-incompatible"
  /** The other side says no: the name is unknown, a token is missing, it is full. Its words say what would help. */
  | "refused"
  /** Nothing answers, or no longer. */
  | "network"
  /** The calling program passed something that makes no sense. */
  | "misuse";

/** Every error that this SDK makes. The message says what and where; `fault` says whose it is. */
export class NowcastError extends Error {
  readonly fault: Fault;
  /** The word of an endpoint that refuses, such as `unauthorised` or `full` (`spec/CARRIERS.md`, section 2). */
  readonly refusal: string | undefined;

  constructor(fault: Fault, message: string, refusal?: string) {
    super(message);
    this.name = "NowcastError";
    this.fault = fault;
    this.refusal = refusal;
  }
}

/** Bytes that are not what they should be: where reading stopped, and in which field. */
export class WireError extends NowcastError {
  /** What is wrong, without the place. */
  readonly detail: string;
  /** Offset in bytes from the start of the message. */
  readonly offset: number;
  /** Names of fields from the root, joined by dots; empty where there are none. */
  readonly path: string;

  constructor(detail: string, offset: number, path = "") {
    super("peer-misbehaved", `${path === "" ? "" : `${path}: `}${detail} (byte ${offset})`);
    this.name = "WireError";
    this.detail = detail;
    this.offset = offset;
    this.path = path;
  }
}

/** What a value is, in the words of an error: `a string`, `a Float32Array`, `null`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  const name = Object.prototype.toString.call(value).slice(8, -1);
  const word = typeof value === "object" ? name : typeof value;
  return `${/^[AEIOUaeiou]/.test(word) ? "an" : "a"} ${word}`;
}

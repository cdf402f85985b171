/** Who has to change something for this error to go away. */
export type Fault =
  /** The server sent what its protocol does not allow. */
  | "peer-misbehaved"
  /** The server is fine, but speaks a version that this SDK does not. */
  | "peer-incompatible"
  /** The calling program passed something that makes no sense. */
  | "misuse";

/** Every error that this SDK makes. The message says what and where; `fault` says whose it is. */
export class NowcastError extends Error {
  readonly fault: Fault;

  constructor(fault: Fault, message: string) {
    super(message);
    this.name = "NowcastError";
    this.fault = fault;
  }
}

/** Bytes that are not what they should be. Keeps the offset at which reading stopped. */
export class WireError extends NowcastError {
  /** Offset in bytes from the start of the message. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super("peer-misbehaved", `${message} at byte ${offset}`);
    this.name = "WireError";
    this.offset = offset;
  }
}

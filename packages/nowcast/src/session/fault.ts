/** Reasons why a session ended (`spec/SESSION.md`, section 12). */
export const CloseCode = {
  done: 0,
  malformed: 1,
  limitExceeded: 2,
  violation: 3,
  gaveUp: 4,
  version: 5,
  unknownSession: 6,
  wrongToken: 7,
  busy: 8,
  unauthorised: 9,
  goingAway: 10,
  behind: 11,
} as const;

/** The end of a session. */
export interface Closed {
  /** A {@link CloseCode}, or the application's own from 64 on. */
  readonly code: number;
  readonly reason: string;
  readonly by: "us" | "peer" | "silence";
}

/** The peer broke a rule. It is thrown only inside the session, which then closes with its code. */
export class PeerFault extends Error {
  constructor(
    readonly code: number,
    reason: string,
  ) {
    super(reason);
  }

  static limit(reason: string): PeerFault {
    return new PeerFault(CloseCode.limitExceeded, reason);
  }

  static violation(reason: string): PeerFault {
    return new PeerFault(CloseCode.violation, reason);
  }
}

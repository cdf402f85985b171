/** Counters since a session began. Nothing is dropped without being counted. */
export interface SessionStats {
  packetsSent: number;
  bytesSent: number;
  packetsReceived: number;
  bytesReceived: number;
  /** Eliciting packets that were acknowledged. */
  packetsAcknowledged: number;
  packetsLost: number;
  probes: number;
  statesSent: number;
  eventsSent: number;
  /** Repeated transmissions of messages. */
  resent: number;
  readonly dropped: {
    /** Packets without a byte. */
    empty: number;
    malformed: number;
    duplicate: number;
    ancient: number;
    unproven: number;
    misplaced: number;
    closed: number;
    /** States that are older than known ones, and events that had already arrived. */
    stale: number;
    late: number;
    lateReplies: number;
    /**
     * Replication payloads that were dropped in favour of newer ones, because the application did
     * not read them.
     */
    unread: number;
    /**
     * Notices that were dropped in favour of newer ones, because the application did not read them.
     */
    notices: number;
  };
}

export function newStats(): SessionStats {
  const dropped = {
    empty: 0,
    malformed: 0,
    duplicate: 0,
    ancient: 0,
    unproven: 0,
    misplaced: 0,
    closed: 0,
    stale: 0,
    late: 0,
    lateReplies: 0,
    unread: 0,
    notices: 0,
  };
  return {
    packetsSent: 0,
    bytesSent: 0,
    packetsReceived: 0,
    bytesReceived: 0,
    packetsAcknowledged: 0,
    packetsLost: 0,
    probes: 0,
    statesSent: 0,
    eventsSent: 0,
    resent: 0,
    dropped,
  };
}

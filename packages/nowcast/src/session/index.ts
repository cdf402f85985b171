/** The session: one sans-IO protocol for all carriers (`spec/SESSION.md`). */

export type { UInt64 } from "../queue/uint64.js";
export { CARRIER_TRAITS, type CarrierTraits, DEFAULT_CONFIG, type SessionConfig } from "./config.js";
export { CloseCode, type Closed } from "./fault.js";
export type { Gauges } from "./gauges.js";
export type { ReceivedEvent, ReceivedState } from "./lane/receive.js";
export { DEFAULT_LIMITS, type Limits } from "./limits.js";
export type { Notice } from "./notice.js";
export { EventKind } from "./packet/frames.js";
export { type Hello, readPacket, type Ticket } from "./packet/packets.js";
export type { Replicated, ReplicationSource } from "./replication.js";
export { type Message, Session } from "./session.js";
export type { SessionStats } from "./stats.js";

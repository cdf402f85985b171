/**
 * Replication deltas: the state of many entities, encoded as the difference from the peer's state (`spec/DELTA.md`).
 */
export { DeltaBaseline } from "./baseline.js";
export { BodyPredictor } from "./bodies.js";
export type { BodyColumns } from "./body-motion.js";
export { DeltaCodec, type DeltaMode, type DeltaOptions, type DeltaPacket } from "./codec.js";
export type { DeltaFrame } from "./frame.js";
export { FrameReader } from "./frame-reader.js";
export type { DeltaGuess } from "./guess.js";
export { type DeltaField, DeltaLayout } from "./layout.js";
export type { DeltaPast } from "./past.js";
export { type DeltaPredictor, LinearPredictor } from "./predict.js";
export { magnitude } from "./scale.js";

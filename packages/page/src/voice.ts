/** Voices of near players, by WebRTC: loaded when the first person speaks. */

export { isOwnNetwork, withoutHostAddresses } from "./voice/candidates.js";
export { Peer, type PeerListener, type PeerState } from "./voice/peer.js";
export { readSignal, SIGNAL_CHARACTERS_MAX, type Signal, writeSignal } from "./voice/signals.js";
export { type MicrophoneState, type Spot, Voice, type VoiceHost } from "./voice/voice.js";

/** Voices of near players, by WebRTC: loaded when the first person speaks. */

export { Voice } from "./voice/voice.js";

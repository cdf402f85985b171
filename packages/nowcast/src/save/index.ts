/** Save files (`spec/WIRE.md`, section 9). */

export { readSave } from "./read.js";
export { writeSave } from "./write.js";

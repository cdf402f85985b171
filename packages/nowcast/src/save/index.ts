/** Save files (`spec/WIRE.md`, section 9). */

export { readSave, type SaveFile } from "./read.js";
export { type SaveWriteOptions, writeSave } from "./write.js";

/** Shared worlds as three.js objects: begin with {@link WorldView}. */

export { LabelSprites } from "./label-sprites.js";
export { startLoop } from "./loop.js";
export { SkyBackdrop } from "./sky/sky-backdrop.js";
export { SKY_PLACE } from "./sky/world-sky.js";
export { Sun } from "./sun.js";
export { WorldView, type WorldViewOptions } from "./world-view.js";

/** Compiles worlds in TypeScript to Luau. */
export { type Compiled, WorldCompiler } from "./compiler.js";
export { BuildError } from "./error.js";
export type { Module } from "./module.js";
export { writeModules } from "./output.js";
export { type BuildReport, buildOnce, watchWorld } from "./watch.js";

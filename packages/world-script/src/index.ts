/** Compiles worlds in TypeScript to Luau. */
export { WorldCompiler } from "./compiler.js";
export { BuildError } from "./error.js";
export { writeModules } from "./output.js";
export { buildOnce, watchWorld } from "./watch.js";

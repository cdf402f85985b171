import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/**
 * Tests that start the built server and a real Chromium; run one file at a time, since both want the processor. They wait
 * for conditions: the limits here are for machines that do something else most of the time.
 */
export default defineConfig({
  resolve: {
    alias: {
      "nowcast/node": fileURLToPath(new URL("./packages/nowcast/src/node/index.ts", import.meta.url)),
      nowcast: fileURLToPath(new URL("./packages/nowcast/src/index.ts", import.meta.url)),
    },
  },
  test: {
    include: ["packages/*/test/browser/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});

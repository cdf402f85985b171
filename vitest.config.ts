import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Unit, vector and property tests; the tests in a real browser have a configuration of their own. */
export default defineConfig({
  resolve: {
    alias: {
      "nowcast/node": fileURLToPath(new URL("./packages/nowcast/src/node/index.ts", import.meta.url)),
      nowcast: fileURLToPath(new URL("./packages/nowcast/src/index.ts", import.meta.url)),
    },
  },
  test: {
    include: ["packages/*/{src,test}/**/*.test.ts", "examples/bot/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/test/browser/**"],
    testTimeout: 60_000,
  },
});

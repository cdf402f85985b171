import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const SDK = fileURLToPath(new URL("../../packages/nowcast/src", import.meta.url));

/** Tests play in real time with the sources of the SDK. */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^nowcast$/, replacement: `${SDK}/index.ts` },
      { find: /^nowcast\/(\w+)$/, replacement: `${SDK}/$1/index.ts` },
    ],
  },
  test: { root: fileURLToPath(new URL(".", import.meta.url)), testTimeout: 180_000 },
});

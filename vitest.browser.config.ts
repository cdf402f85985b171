import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Tests run on the sources of the packages. */
const SDK = fileURLToPath(new URL("./packages/nowcast/src", import.meta.url));
const THREE = fileURLToPath(new URL("./packages/three/src", import.meta.url));
const PAGE = fileURLToPath(new URL("./packages/page/src", import.meta.url));
const REACT = fileURLToPath(new URL("./packages/react/src", import.meta.url));

/**
 * Tests that start the built server and a real Chromium; run one file at a time, since both want the processor. They wait
 * for conditions: the limits here are for machines that do something else most of the time.
 */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^nowcast$/, replacement: `${SDK}/index.ts` },
      { find: /^nowcast\/(\w+)$/, replacement: `${SDK}/$1/index.ts` },
      { find: /^@nowcast\/three$/, replacement: `${THREE}/index.ts` },
      { find: /^@nowcast\/three\/internal$/, replacement: `${THREE}/internal.ts` },
      { find: /^@nowcast\/page$/, replacement: `${PAGE}/index.ts` },
      { find: /^@nowcast\/page\/(\w+)$/, replacement: `${PAGE}/$1.ts` },
      { find: /^@nowcast\/react$/, replacement: `${REACT}/index.ts` },
    ],
  },
  test: {
    // `cargo xtask test` runs the folders `browser`. `npm run screenshots` takes pictures for people to look at.
    include: ["packages/*/test/{browser,screenshots}/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});

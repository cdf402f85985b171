import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Tests run on the sources of the packages. */
const SDK = fileURLToPath(new URL("./packages/nowcast/src", import.meta.url));
const THREE = fileURLToPath(new URL("./packages/three/src", import.meta.url));
const PAGE = fileURLToPath(new URL("./packages/page/src", import.meta.url));
const REACT = fileURLToPath(new URL("./packages/react/src", import.meta.url));
const SERVER = fileURLToPath(new URL("./packages/nowcast-server/src", import.meta.url));

/** Unit, vector and property tests; the tests in a real browser have a configuration of their own. */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^nowcast$/, replacement: `${SDK}/index.ts` },
      { find: /^nowcast-session$/, replacement: `${SDK}/session/index.ts` },
      { find: /^nowcast\/(\w+)$/, replacement: `${SDK}/$1/index.ts` },
      { find: /^@nowcast\/three$/, replacement: `${THREE}/index.ts` },
      { find: /^@nowcast\/three\/internal$/, replacement: `${THREE}/internal.ts` },
      { find: /^@nowcast\/page$/, replacement: `${PAGE}/index.ts` },
      { find: /^@nowcast\/page\/(\w+)$/, replacement: `${PAGE}/$1.ts` },
      { find: /^@nowcast\/react$/, replacement: `${REACT}/index.ts` },
      { find: /^nowcast-server$/, replacement: `${SERVER}/index.ts` },
    ],
  },
  test: {
    // Tests wait for conditions: this limit is for machines that do something else most of the time.
    testTimeout: 180_000,
    // Many tests wait for a server or a clock, so there are more workers than cores.
    maxWorkers: availableParallelism() + 1,
    minWorkers: 1,
    projects: [
      {
        extends: true,
        test: {
          name: "packages",
          include: ["packages/*/{src,test}/**/*.test.{ts,tsx}"],
          exclude: ["**/node_modules/**", "**/test/{browser,screenshots}/**"],
        },
      },
      {
        extends: true,
        test: {
          name: "examples",
          include: ["examples/{back-end,bot}/**/*.test.ts"],
          globalSetup: ["examples/bot/build-sdk.ts"],
        },
      },
    ],
  },
});

import { defineConfig } from "vitest/config";

/** Tests that start the built server and a real Chromium; run one file at a time, since both want the processor. */
export default defineConfig({
  test: {
    include: ["packages/*/test/browser/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
});

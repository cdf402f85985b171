import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** `vite dev` serves the page and passes all other requests on to a running server. */
const server = process.env["NOWCAST_SERVER"] ?? "http://127.0.0.1:7777";

const sdk = fileURLToPath(new URL("../nowcast/src", import.meta.url));
const three = fileURLToPath(new URL("../three/src", import.meta.url));

export default defineConfig(({ command }) => ({
  // The page lies at `/studio/`, perhaps below a base path.
  base: command === "build" ? "./" : "/studio/",
  resolve: {
    // The sources are used directly, so that the other packages need not be built first.
    alias: [
      { find: /^nowcast$/, replacement: `${sdk}/index.ts` },
      { find: /^nowcast\/(\w+)$/, replacement: `${sdk}/$1/index.ts` },
      { find: /^@nowcast\/three$/, replacement: `${three}/index.ts` },
      { find: /^@nowcast\/three\/internal$/, replacement: `${three}/internal.ts` },
    ],
  },
  build: {
    target: "es2022",
    // The content security policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
    rollupOptions: {
      output: { manualChunks: (id) => (id.includes("node_modules/three/build") ? "three" : undefined) },
    },
  },
  server: {
    proxy: {
      "/studio/api": server,
      "/nowcast": { target: server, ws: true },
      "/ws": { target: server, ws: true },
      "/api": server,
      "/assets/": server,
    },
  },
}));

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import type { Rollup } from "vite";
import { defineConfig, type ViteUserConfig } from "vitest/config";

// `vite dev` serves the page and passes the world's sessions and WebSockets on to a running server.
const server = process.env["NOWCAST_SERVER"] ?? "http://127.0.0.1:7777";

const sdk = fileURLToPath(new URL("../nowcast/src", import.meta.url));
const page = fileURLToPath(new URL("../page/src", import.meta.url));
const three = fileURLToPath(new URL("../three/src", import.meta.url));

type ManualChunkMeta = Parameters<Rollup.GetManualChunk>[1];
type Plugin = Extract<NonNullable<ViteUserConfig["plugins"]>[number], { name: string }>;

/** Modules that every visit needs after Enter. The page loads them in one file while the user reads the start screen. */
const NEEDED_NEXT = /\/(session-adapter|open-session|poses\/poses|avatar-prediction|models\/kit)\.ts$/;
const NEXT = "next";

/** Assigns modules to files, so that the page needs few requests. */
function createFileOf(): (id: string, meta: ManualChunkMeta) => string | undefined {
  let closures: readonly Set<string>[] | undefined;
  return (id, { getModuleIds, getModuleInfo }) => {
    // three.js changes rarely. In a separate file, it stays in the caches of browsers when the page changes. The loader of
    // models is not part of this file, because it is loaded with the first model.
    if (id.includes("node_modules/three/build")) return "three";
    closures ??= [/\/viewer\/index\.html$/, /\/viewer\/lab\.html$/, NEEDED_NEXT].map((entry) => {
      const found = new Set([...getModuleIds()].filter((one) => entry.test(one)));
      for (const one of found)
        for (const imported of getModuleInfo(one)?.importedIds ?? []) found.add(imported);
      return found;
    });
    const [isFirst, isOfLab, isNext] = closures.map((closure) => closure.has(id));
    if (isFirst) return isOfLab || isNext ? "shared" : undefined;
    return isNext ? NEXT : undefined;
  };
}

function preloadNext(): Plugin {
  return {
    name: "preload-next",
    transformIndexHtml: {
      order: "post",
      handler(_, { bundle, path }) {
        if (path !== "/index.html") return [];
        const next = Object.values(bundle ?? {}).filter((chunk) => chunk.name === NEXT);
        return next.map(({ fileName }) => ({
          tag: "link",
          attrs: { rel: "modulepreload", crossorigin: true, href: `./${fileName}` },
          injectTo: "head",
        }));
      },
    },
  };
}

/** Writes `room.html`: the page `index.html` for addresses one folder deeper, such as `/r/football`. */
function roomPage(): Plugin {
  return {
    name: "room-page",
    apply: "build",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const page = bundle["index.html"];
        if (page?.type !== "asset") throw new Error("the page index.html was not built");
        const source = String(page.source).replaceAll('"./', '"../');
        this.emitFile({ type: "asset", fileName: "room.html", source });
      },
    },
  };
}

const STATIC = readdirSync(fileURLToPath(new URL("public", import.meta.url)));
const TEXT = /\.(?:html|js|css|svg|json|webmanifest)$/;

/**
 * Compresses each text file by Brotli, into a file with the suffix `.br`. The server sends this file to
 * browsers that accept it.
 */
function compress(): Plugin {
  return {
    name: "compress",
    apply: "build",
    writeBundle: {
      order: "post",
      handler({ dir = "dist" }, bundle) {
        for (const file of [...Object.keys(bundle), ...STATIC].filter((name) => TEXT.test(name))) {
          const text = readFileSync(join(dir, file));
          const params = {
            [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
            [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
          };
          writeFileSync(join(dir, `${file}.br`), brotliCompressSync(text, { params }));
        }
      },
    },
  };
}

export default defineConfig({
  plugins: [preloadNext(), roomPage(), compress()],
  // Pages may lie below the base path of a server or proxy.
  base: "./",
  resolve: {
    // The sources are used directly, so that the other packages need not be built first.
    alias: [
      { find: /^nowcast$/, replacement: `${sdk}/index.ts` },
      { find: /^nowcast\/(\w+)$/, replacement: `${sdk}/$1/index.ts` },
      { find: /^@nowcast\/three$/, replacement: `${three}/index.ts` },
      { find: /^@nowcast\/three\/internal$/, replacement: `${three}/internal.ts` },
      { find: /^@nowcast\/page$/, replacement: `${page}/index.ts` },
      { find: /^@nowcast\/page\/(\w+)$/, replacement: `${page}/$1.ts` },
    ],
  },
  build: {
    target: "es2022",
    // The content security policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
    rollupOptions: {
      input: { index: "index.html", lab: "lab.html" },
      output: { manualChunks: createFileOf() },
    },
  },
  server: {
    proxy: {
      "/nowcast": { target: server, ws: true },
      "/ws": { target: server, ws: true },
      "/api": server,
      // Requests for files of worlds are passed on. During development, the page's own assets have other
      // paths.
      "/assets/": server,
      "/healthz": server,
    },
  },
  test: { include: ["test/*.test.ts"] },
});

import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** A page joins a world at its own address, so Vite passes requests for the server's paths on to the server. */
const server = process.env["NOWCAST_SERVER"] ?? "http://127.0.0.1:7777";
const proxy = { "/nowcast": { target: server, ws: true }, "/assets/": server, "/api/": server };

const pages = ["index.html", "element.html"].map((name) => fileURLToPath(new URL(name, import.meta.url)));

export default defineConfig({
  // The server's own `/assets/` are the files of worlds.
  build: { target: "es2022", assetsDir: "built", rollupOptions: { input: pages } },
  server: { proxy },
  preview: { proxy },
});

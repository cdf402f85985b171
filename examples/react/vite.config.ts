import { defineConfig } from "vite";

/** A world is joined at the page's own address, so the server's paths are passed on to it. */
const server = process.env["NOWCAST_SERVER"] ?? "http://127.0.0.1:7777";
const proxy = { "/nowcast": { target: server, ws: true }, "/assets/": server };

export default defineConfig({
  // The server's own `/assets/` are the files of worlds.
  build: { target: "es2022", assetsDir: "built" },
  server: { proxy },
  preview: { proxy },
});

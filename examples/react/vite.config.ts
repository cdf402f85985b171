import { defineConfig } from "vite";

/** A page joins a world at its own address, so Vite passes requests for the server's paths on to the server. */
const server = process.env["NOWCAST_SERVER"] ?? "http://127.0.0.1:7777";
const proxy = { "/nowcast": { target: server, ws: true }, "/assets/": server, "/api/": server };

export default defineConfig({
  // The server's own `/assets/` are the files of worlds.
  build: { target: "es2022", assetsDir: "built" },
  server: { proxy },
  preview: { proxy },
});

import { NowcastError } from "../errors/nowcast-error.js";
import { PlainWorld } from "./plain/plain-world.js";
import { SessionWorld } from "./session/session-world.js";
import type { JoinOptions, World } from "./world.js";

/**
 * Joins the world at `url`, such as `nowcast://localhost:7777/plaza` or the address that a browser shows; a page may leave
 * out its own origin. Returns at once: listen to `status`, `welcome` and `error`, or just draw `entities`.
 *
 * ```ts
 * const world = joinWorld("nowcast://localhost:7777/plaza", { name: "Ada" });
 * world.on("chat", ({ name, text }) => console.log(`${name}: ${text}`));
 * world.on("welcome", () => world.input({ forward: 1, right: 0, yaw: 0, run: false, jump: false }));
 * ```
 *
 * Addresses such as `ws://localhost:7777/ws/plaza` are joined by the plain protocol, unless `protocol` says otherwise.
 */
export function joinWorld(url: string | URL, options: JoinOptions = {}): World {
  const protocol = options.protocol ?? (/^wss?:/i.test(String(url)) ? "plain" : "session");
  switch (protocol) {
    case "plain":
      return new PlainWorld(url, options);
    case "session":
      return new SessionWorld(url, options);
    default:
      throw new NowcastError("misuse", `protocol "${String(protocol)}" is neither session nor plain`);
  }
}

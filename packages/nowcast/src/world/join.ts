import { NowcastError } from "../errors/nowcast-error.js";
import { serverOrigin, sessionUrl, worldUrl } from "./address.js";
import { WorldClient } from "./client.js";
import type { ProtocolHandlers } from "./protocol.js";
import { beginConnectAttempt } from "./session/connect-session.js";
import type { WorldOf, WorldTypes } from "./typed-world.js";
import { ENCODINGS, type JoinOptions, type World } from "./world.js";

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
 * For addresses such as `ws://localhost:7777/ws/plaza`, the plain protocol is used, unless
 * `protocol` selects another one. Throws a `NowcastError` for an invalid address or option.
 */
export function joinWorld(url: string | URL, options?: JoinOptions): World;
/**
 * Joins a world with the types that `nowcast gen DIR` generates from the world's folder:
 * `joinWorld<Football>(address)`.
 */
export function joinWorld<T extends WorldTypes>(url: string | URL, options?: JoinOptions): WorldOf<T>;
export function joinWorld(url: string | URL, options: JoinOptions = {}): World {
  const protocol = options.protocol ?? (/^wss?:/i.test(String(url)) ? "plain" : "session");
  switch (protocol) {
    case "plain":
      return joinPlain(worldUrl(url), options);
    case "session":
      return joinSession(sessionUrl(url), options);
    default:
      throw new NowcastError("misuse", `protocol "${String(protocol)}" is neither session nor plain`);
  }
}

/**
 * The decoder of a world is loaded while the session begins, which takes several round trips. Messages that arrive
 * earlier wait in the session, where newer values replace older ones.
 */
function joinSession(url: string, options: JoinOptions): World {
  const opening = import("./session/session-adapter.js").then(
    ({ SessionAdapter }) =>
      (handlers: ProtocolHandlers) =>
        new SessionAdapter(url, options, handlers, first),
  );
  const world = new WorldClient(serverOrigin(url), options, opening);
  const first = beginConnectAttempt(url, options);
  opening.catch(() => {
    first.end.abort();
    first.channel.then((channel) => channel.close()).catch(() => {});
  });
  return world;
}

function joinPlain(url: URL, options: JoinOptions): World {
  const { encoding } = options;
  if (encoding !== undefined && !ENCODINGS.includes(encoding)) {
    throw new NowcastError("misuse", `encoding "${encoding}" is not one of ${ENCODINGS.join(", ")}`);
  }
  const loaded = import("./plain/plain-adapter.js");
  return new WorldClient(
    serverOrigin(sessionUrl(url)),
    options,
    loaded.then(
      ({ PlainAdapter }) =>
        (handlers) =>
          new PlainAdapter(url, options, handlers),
    ),
  );
}

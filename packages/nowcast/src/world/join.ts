import { serverOrigin, sessionUrl, tokenIn } from "./address.js";
import { WorldClient } from "./client.js";
import { beginConnectAttempt } from "./session/connect-session.js";
import type { WorldOf, WorldTypes } from "./typed-world.js";
import type { JoinOptions, World } from "./world.js";

/**
 * Joins the world at `url`, such as `nowcast://localhost:7777/playground` or the address that a browser shows; a page may
 * leave out its own origin. Returns at once: listen to `status`, `welcome` and `error`, or just draw `entities`.
 *
 * ```ts
 * const world = joinWorld("nowcast://localhost:7777/plaza", { name: "Ada" });
 * world.on("chat", ({ name, text }) => console.log(`${name}: ${text}`));
 * world.on("welcome", () => world.input({ forward: 1, right: 0, yaw: 0, run: false, jump: false }));
 * ```
 *
 * Throws a `NowcastError` for an invalid address or option.
 */
export function joinWorld(url: string | URL, options?: JoinOptions): World;
/**
 * Joins a world with the types that `nowcast gen DIR` generates from the world's folder:
 * `joinWorld<Football>(address)`.
 */
export function joinWorld<T extends WorldTypes>(url: string | URL, options?: JoinOptions): WorldOf<T>;
export function joinWorld(address: string | URL, given: JoinOptions = {}): World {
  const url = sessionUrl(address);
  const options = { ...given, token: given.token ?? tokenIn(address) };
  // The decoder of a world is loaded while the session begins, which takes several round trips. Messages that arrive
  // earlier wait in the session, where newer values replace older ones.
  const opening = import("./session/session-adapter.js").then(
    ({ SessionAdapter }) =>
      (handlers: WorldClient) =>
        new SessionAdapter(url, options, handlers, first),
  );
  const world = new WorldClient(serverOrigin(url), url, options, opening);
  const first = beginConnectAttempt(url, options);
  opening.catch(() => {
    first.end.abort();
    first.channel.then((channel) => channel.close()).catch(() => {});
  });
  return world;
}

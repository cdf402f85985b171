import { serverUrl, sessionUrl, tokenIn } from "./address.js";
import { WorldClient } from "./client.js";
import { beginConnectAttempt } from "./session/connect-session.js";
import type { WorldOf, WorldTypes } from "./typed-world.js";
import type { JoinOptions, World } from "./world.js";

/**
 * Joins the world at `url`, such as `nowcast://localhost:7777/playground` or the address that a browser shows; a page may leave
 * out its own origin. `await` waits until the definition and the players are there, and throws the cause if the world cannot
 * be joined. Without `await`, the world is still empty: listen to its events, or draw its `entities`, and handle the cause
 * by `catch` or the event `error`.
 *
 * ```ts
 * const world = await joinWorld("nowcast://localhost:7777/playground", { name: "Ada" });
 * world.on("chat", ({ name, text }) => console.log(`${name}: ${text}`));
 * world.input({ forward: 1, right: 0, yaw: 0, run: false, jump: false });
 * ```
 *
 * Throws a `NowcastError` at once for an invalid address or option.
 */
export function joinWorld(
  url: string | URL,
  options?: JoinOptions,
): World & Pick<Promise<World>, "then" | "catch">;
/**
 * Joins a world with the types that `nowcast gen DIR` generates from the world's folder:
 * `joinWorld<Football>(address)`.
 */
export function joinWorld<T extends WorldTypes>(
  url: string | URL,
  options?: JoinOptions,
): WorldOf<T> & Pick<Promise<WorldOf<T>>, "then" | "catch">;
export function joinWorld(address: string | URL, given: JoinOptions = {}): Joining {
  const url = sessionUrl(address);
  const options = { ...given, token: given.token ?? tokenIn(address) };
  // The decoder of a world is loaded while the session begins, which takes several round trips. Messages that arrive
  // earlier wait in the session, where newer values replace older ones.
  const opening = import("./session/session-adapter.js").then(
    ({ SessionAdapter }) =>
      (handlers: WorldClient) =>
        new SessionAdapter(url, options, handlers, first),
  );
  const world = new WorldClient(serverUrl(url), url, options, opening);
  const first = beginConnectAttempt(url, options);
  opening.catch(() => {
    first.end.abort();
    first.channel.then((channel) => channel.close()).catch(() => {});
  });
  return awaitable(world);
}

type Joining = World & Pick<Promise<World>, "then" | "catch">;

/** A promise of a world that is the world itself. A promise cannot hold such a promise, so the world that is there is none. */
function awaitable(world: WorldClient): Joining {
  const joining: World & Partial<Joining> = world;
  world.ready.then(
    () => delete joining.then,
    () => {},
  );
  const there = world.ready.then(() => world as World);
  there.catch(() => {});
  const then: typeof there.then = (...listeners) => {
    world.isAwaited = true;
    return there.then(...listeners);
  };
  const refused: typeof there.catch = (listener) => then(undefined, listener);
  return Object.assign(world, { then, catch: refused });
}

import { NowcastError } from "nowcast";
import { type JoinOptions, joinWorld, type World } from "nowcast/world";
import { createContext, createElement, type ReactNode, useContext, useEffect, useRef, useState } from "react";

/** The world of the hooks; `undefined` outside of a provider and before it has joined. */
export const WorldContext = createContext<World | undefined>(undefined);

export interface WorldProviderProps {
  /** The address of the room, as for `joinWorld`. If the address changes, the provider joins again. */
  readonly url?: string | URL | undefined;
  /**
   * Options that are read when the provider joins. Later, a new `name` renames the player; other changes have no
   * effect.
   */
  readonly options?: JoinOptions | undefined;
  /** A world that the program joined itself, instead of `url`. The provider does not close it. */
  readonly world?: World | undefined;
  readonly children?: ReactNode;
  /** Shown until the provider has called `joinWorld`, which is one render later. */
  readonly fallback?: ReactNode;
}

/**
 * Joins a world while the provider is mounted, and passes the world to the hooks below it. In StrictMode, which mounts
 * twice, the first join ends before a packet is sent.
 *
 * ```tsx
 * <WorldProvider url="/r/football" options={{ name: "Ada" }}>
 *   <Score />
 * </WorldProvider>
 * ```
 */
export function WorldProvider({
  url,
  options,
  world,
  children,
  fallback = null,
}: WorldProviderProps): ReactNode {
  const [joined, setJoined] = useState<World | undefined>(undefined);
  const askedName = useRef<string | undefined>(undefined);
  const address = url === undefined ? undefined : String(url);
  // The options at the time of joining apply; only the name may change afterwards.
  const newest = useRef(options);
  useEffect(() => {
    newest.current = options;
  });
  useEffect(() => {
    if (address === undefined) return undefined;
    // The join starts after StrictMode has ended the first of its two mounts.
    let opened: World | undefined;
    const begin = setTimeout(() => {
      askedName.current = newest.current?.name;
      opened = joinWorld(address, { retry: true, ...newest.current });
      opened.ready.catch(() => undefined);
      setJoined(opened);
    });
    return () => {
      clearTimeout(begin);
      opened?.close();
      setJoined(undefined);
    };
  }, [address]);
  const name = options?.name;
  useEffect(() => {
    if (joined === undefined || name === undefined || name === askedName.current) return;
    askedName.current = name;
    joined.rename(name);
  }, [joined, name]);
  const shown = world ?? joined;
  if (shown === undefined) return fallback;
  return createElement(WorldContext.Provider, { value: shown }, children);
}

/** The world of the nearest {@link WorldProvider}. Throws a misuse outside of one. */
export function useWorld(): World {
  const world = useContext(WorldContext);
  if (world === undefined) {
    throw new NowcastError("misuse", "this component is not inside of a <WorldProvider>");
  }
  return world;
}

/**
 * Finds the endpoint that has a service (`spec/CARRIERS.md`, section 2). In a cluster, an endpoint may send the client to
 * another one, and others answer if an endpoint does not.
 */
import { NowcastError } from "../errors/nowcast-error.js";
import type { Address } from "./address.js";
import { type Discovery, discover } from "./discovery.js";

/** Maximum number of times that endpoints send a client on. Then the client stays at the last one. */
const MOVES_MAX = 4;

/** Time for which an endpoint of a cluster is asked alone. Then the other endpoints are asked, too. */
const ALONE_MS = 500;

/** Maximum number of services whose other endpoints are remembered. */
const REMEMBERED_MAX = 64;

/** The endpoint of a service, and its record. */
export interface Found {
  readonly address: Address;
  readonly discovery: Discovery;
}

type Query = Record<string, string | undefined>;

/**
 * The endpoints of the clusters that this program has asked, by the address that the program gave. They outlive a session,
 * because the next one begins at the address that the program gave, whose server may have ended.
 */
const remembered = new Map<string, readonly Address[]>();

/**
 * Asks the endpoint at `current` for the service, and follows a redirect to another endpoint. If `current` is silent or
 * cannot be reached, asks all other known endpoints of the cluster at once. `given` is the address that the program gave.
 */
export async function findEndpoint(
  given: Address,
  current: Address,
  query: Query,
  signal: AbortSignal,
): Promise<Found> {
  const others = remembered.get(keyOf(given));
  if (others === undefined) return remember(given, await follow(current, query, signal));
  const end = new AbortController();
  const both = AbortSignal.any([signal, end.signal]);
  try {
    const first = follow(current, query, both);
    const isAnswered = await answersSoon(first);
    const rest = isAnswered ? [] : others.map((address) => follow(address, query, both));
    const found = await Promise.any([first, ...rest]).catch(() => first);
    return remember(given, found);
  } finally {
    end.abort();
  }
}

/** Whether an endpoint answers in time. A refusal is an answer, too. */
async function answersSoon(asked: Promise<Found>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ALONE_MS);
  });
  const answer = asked.then(
    () => true,
    (error: unknown) => !(error instanceof NowcastError && error.fault === "network"),
  );
  const isAnswered = await Promise.race([answer, silence]);
  clearTimeout(timer);
  return isAnswered;
}

/** Asks an endpoint, and those to which it sends the client. */
async function follow(from: Address, query: Query, signal: AbortSignal): Promise<Found> {
  let address = from;
  for (let moves = 0; ; moves++) {
    const discovery = await discover(address, query, signal);
    if (discovery.moved === undefined || moves === MOVES_MAX) return { address, discovery };
    address = discovery.moved;
  }
}

function remember(given: Address, found: Found): Found {
  const { address, discovery } = found;
  if (discovery.others.length === 0) return found;
  const key = keyOf(given);
  remembered.delete(key);
  remembered.set(key, [given, address, ...discovery.others]);
  const [oldest] = remembered.keys();
  if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
  return found;
}

function keyOf({ host, port, name }: Address): string {
  return `${host}:${port}/${name}`;
}

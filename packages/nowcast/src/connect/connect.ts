/** `connect`: opens the best available carrier, and another one if it fails (`spec/CARRIERS.md`, section 6). */
import type { CarrierKind, OpenCarrier } from "../carrier/carrier.js";
import { forAnyCarrier, PROPERTIES } from "../carrier/carrier.js";
import { clockUs, Driver, randomEntropy } from "../carrier/driver.js";
import { openWebSocket } from "../carrier/websocket.js";
import { hasWebTransport, openWebTransport } from "../carrier/webtransport.js";
import { Channel, closedError } from "../channel/channel.js";
import { NowcastError } from "../errors/nowcast-error.js";
import { CloseCode, type Closed } from "../session/fault.js";
import { Session, type SessionConfig } from "../session/index.js";
import { checkLimits, DEFAULT_LIMITS } from "../session/limits.js";
import type { WebSocketConstructor } from "../websocket/websocket.js";
import { type Address, addressUrl, readAddress } from "./address.js";
import { CarrierMigrator, type Offers } from "./carrier-migrator.js";
import { type Discovery, discover } from "./discovery.js";
import { openFirst } from "./race.js";

/** While there is another carrier to try, so long a HELLO may stay unanswered at the beginning. */
const UNANSWERED_MS_MAX = 3_000;

export interface ConnectOptions {
  /**
   * The token for an endpoint that requires one (`spec/CARRIERS.md`, section 7). It is part of addresses, so use a
   * short lifetime.
   */
  readonly token?: string | undefined;
  /** The carriers to use, the best first; all that there are by default. */
  readonly carriers?: readonly CarrierKind[] | undefined;
  /** Cancels the attempt. Close an open channel with its own `close`. */
  readonly signal?: AbortSignal | undefined;
  /** Limits, lane classes and bounds of the session. */
  readonly session?: Partial<SessionConfig> | undefined;
  /** Another WebSocket. By default the global one, and in a Node without it the SDK's own small client. */
  readonly WebSocket?: WebSocketConstructor | undefined;
}

/**
 * Opens a channel to the service at `nowcast://HOST:PORT/NAME` (or `https://HOST/nowcast/NAME`; in a page, a name alone
 * means the page's own endpoint). It stays open over any change of the carrier.
 *
 * Works in pages, in workers and in Node. Rejected with a {@link NowcastError} that names a cure.
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Channel> {
  const endpoint = new Endpoint(readAddress(url), options);
  checkLimits({ ...DEFAULT_LIMITS, ...forAnyCarrier(options.session).limits });
  for (const kind of options.carriers ?? []) {
    if (!(kind in PROPERTIES)) {
      const known = Object.keys(PROPERTIES).join(" nor ");
      throw new NowcastError("misuse", `the carrier "${String(kind)}" is neither ${known}`);
    }
  }
  const signal = options.signal ?? new AbortController().signal;
  signal.throwIfAborted();
  await endpoint.ask(signal);
  let kinds = endpoint.kinds;
  if (kinds.length === 0) throw endpoint.offersNothing();
  for (;;) {
    const carrier = await openFirst(kinds, endpoint.open, signal).catch((error) =>
      endpoint.explain(error, signal),
    );
    kinds = kinds.filter((kind) => kind !== carrier.kind);
    const driver = new Driver(
      Session.connect(clockUs(), PROPERTIES[carrier.kind], randomEntropy(), forAnyCarrier(options.session)),
    );
    const closed = await begin(driver, carrier, kinds.length > 0, signal);
    if (closed === undefined) return openChannel(driver, endpoint.toResume());
    if (kinds.length === 0 || closed.by !== "silence") throw refusedError(closed) ?? closedError(closed);
  }
}

/** The error for a session that was refused at once, with the endpoint's error code (`spec/CARRIERS.md`, section 2). */
function refusedError({ code, reason }: Closed): NowcastError | undefined {
  const [word, cure] =
    code === CloseCode.busy
      ? (["full", "come again later"] as const)
      : code === CloseCode.unauthorised
        ? (["unauthorised", "ask for a new token"] as const)
        : [];
  if (word === undefined) return undefined;
  const message = `the endpoint refuses: ${word}; ${reason || word}; ${cure}`;
  return new NowcastError("refused", reason || word, { code: word, cure, message, closeCode: code });
}

/** Waits until the session is open; otherwise throws the reason of its end. */
function begin(
  driver: Driver,
  carrier: OpenCarrier,
  hasOthers: boolean,
  signal: AbortSignal,
): Promise<Closed | undefined> {
  return new Promise((resolve, reject) => {
    const unanswered = (): void => driver.close(CloseCode.gaveUp, "no answer to HELLO");
    const timer = hasOthers ? setTimeout(unanswered, UNANSWERED_MS_MAX) : undefined;
    const end = (closed: Closed | undefined): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(closed);
    };
    const stop = (): void => {
      driver.close(CloseCode.done, "given up");
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop);
    const changed = (): void => {
      const notice = driver.session.pollNotice();
      if (notice?.type === "opened") end(undefined);
      if (notice?.type !== "closed") return;
      const { closed } = notice;
      end(closed.code === CloseCode.gaveUp ? { ...closed, by: "silence" } : closed);
    };
    driver.handle({ changed, carrierEnded: changed });
    driver.adopt(carrier);
  });
}

function openChannel(driver: Driver, offers: Offers): Channel {
  const channel = new Channel(driver);
  const migrator = new CarrierMigrator(driver, offers);
  driver.handle({
    changed: () => {
      if (driver.session.isClosed) migrator.stop();
      channel.changed();
    },
    carrierEnded: () => migrator.look(),
  });
  // The bytes that arrived with the answer.
  queueMicrotask(() => driver.pump());
  return channel;
}

/** The record of the other side, and the way to open carriers to it. */
class Endpoint implements Offers {
  readonly #address: Address;
  readonly #options: ConnectOptions;
  #discovery: Discovery = { websocket: true, isOverTlsAlone: false, webtransport: undefined };
  #isResuming = false;

  constructor(address: Address, options: ConnectOptions) {
    this.#address = address;
    this.#options = options;
  }

  /**
   * Returns offers for carriers that resume a session. These need no token, and tell the endpoint that they only
   * resume.
   */
  toResume(): this {
    this.#isResuming = true;
    return this;
  }

  get kinds(): readonly CarrierKind[] {
    const { carriers = ["webtransport", "websocket"] } = this.#options;
    const { webtransport, websocket } = this.#discovery;
    return carriers.filter((kind) =>
      kind === "webtransport" ? webtransport !== undefined && hasWebTransport() : websocket,
    );
  }

  /**
   * The error if there is no carrier. A page that was loaded over plain HTTP from another machine has no WebTransport,
   * and often may not join.
   */
  offersNothing(): NowcastError {
    if (!this.#discovery.isOverTlsAlone) {
      return new NowcastError("peer-incompatible", "the endpoint offers no carrier that this platform has", {
        code: "no_carrier",
        cure: "use a browser with WebTransport, or ask its operator to offer WebSocket",
      });
    }
    const cause = "sessions from other machines are encrypted there, and this page came by plain HTTP";
    const cure =
      "open the page by https, or ask the server's operator for --self-signed, a certificate or --insecure";
    return new NowcastError("refused", `the endpoint refuses: ${cause}`, {
      code: "not_encrypted",
      cure,
    });
  }

  async ask(signal: AbortSignal): Promise<void> {
    this.#discovery = await discover(this.#address, this.#query, signal);
  }

  /**
   * Platforms report almost nothing about a carrier that did not open. If the endpoint now refuses, its answer has the
   * reason.
   */
  async explain(error: unknown, signal: AbortSignal): Promise<never> {
    try {
      await this.ask(signal);
    } catch (answer) {
      if (answer instanceof NowcastError && answer.fault === "refused") throw answer;
    }
    throw error;
  }

  async refresh(signal: AbortSignal): Promise<void> {
    try {
      await this.ask(signal);
    } catch {
      // The earlier answer is the best guess.
    }
    signal.throwIfAborted();
  }

  readonly open = (kind: CarrierKind, signal: AbortSignal): Promise<OpenCarrier> => {
    const { webtransport } = this.#discovery;
    if (kind === "websocket") {
      const scheme = this.#address.isEncrypted ? "wss" : "ws";
      return openWebSocket(addressUrl(this.#address, scheme, this.#query), this.#options.WebSocket, signal);
    }
    if (webtransport === undefined) {
      return Promise.reject(new NowcastError("network", "the endpoint no longer offers WebTransport"));
    }
    const url = addressUrl({ ...this.#address, port: webtransport.port }, "https", this.#query);
    return openWebTransport(url, webtransport.certificateHashes, signal);
  };

  get #query(): Record<string, string | undefined> {
    return this.#isResuming ? { resume: "1" } : { token: this.#options.token };
  }
}

/** `connect`: opens the best available carrier, and another one if it fails (`spec/CARRIERS.md`, section 6). */
import type { CarrierKind, CarrierWrapper, OpenCarrier } from "../carrier/carrier.js";
import { forAnyCarrier, PROPERTIES } from "../carrier/carrier.js";
import { openWebSocket } from "../carrier/websocket.js";
import { hasWebTransport, openWebTransport } from "../carrier/webtransport.js";
import type { Channel } from "../channel/channel.js";
import { asNowcastError, NowcastError } from "../errors/nowcast-error.js";
import type { SessionConfig } from "../session/config.js";
import { checkLimits, DEFAULT_LIMITS } from "../session/limits.js";
import type { WebSocketConstructor } from "../websocket/websocket.js";
import { type Address, addressUrl, readAddress } from "./address.js";
import type { Offers } from "./carrier-migrator.js";
import type { Discovery } from "./discovery.js";
import { findEndpoint } from "./endpoints.js";
import { openFirst } from "./race.js";

export interface ConnectOptions {
  /**
   * The token for an endpoint that requires one (`spec/CARRIERS.md`, section 7). The token becomes part of a URL, so
   * give it a short lifetime.
   */
  readonly token?: string | undefined;
  /** The carriers to use, the best first. By default all carriers of the platform. */
  readonly carriers?: readonly CarrierKind[] | undefined;
  /** Cancels the attempt. Close an open channel with its own `close`. */
  readonly signal?: AbortSignal | undefined;
  /** Limits, lane classes and bounds of the session. */
  readonly session?: Partial<SessionConfig> | undefined;
  /**
   * Another implementation of WebSocket. By default the global one; in a Node without it, the SDK's
   * own small client.
   */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /** A bad link for this connection, in both directions: an `Impairment` of `nowcast/impair`. */
  readonly impair?: CarrierWrapper | undefined;
}

/**
 * Opens a channel to the service at `nowcast://HOST:PORT/NAME` (or `https://HOST/nowcast/NAME`; in a page, a name alone
 * means the page's own endpoint). The channel stays open when its carrier changes.
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
  const loading = import("./open-session.js");
  // An error of the import is reported where the promise is awaited, unless the endpoint refuses earlier.
  loading.catch(() => {});
  await endpoint.ask(signal);
  let kinds = endpoint.kinds;
  if (kinds.length === 0) throw endpoint.offersNothing();
  for (;;) {
    const carrier = await openFirst(kinds, endpoint.open, signal).catch((error) =>
      endpoint.explain(error, signal),
    );
    kinds = kinds.filter((kind) => kind !== carrier.kind);
    const { openSession } = await loading.catch((error) => {
      carrier.close(1000, "the code that runs a session could not be loaded");
      throw asNowcastError(error);
    });
    if (signal.aborted) carrier.close(1000, "given up");
    signal.throwIfAborted();
    const offers = () => endpoint.toResume();
    const channel = await openSession(carrier, { config: options.session, signal, others: kinds, offers });
    if (channel !== undefined) return channel;
  }
}

/** The record of the endpoint, and functions that open carriers to it. */
class Endpoint implements Offers {
  /** The address that the program gave. */
  readonly #given: Address;
  /** The endpoint that has the service now. */
  #address: Address;
  readonly #options: ConnectOptions;
  #discovery: Discovery = {
    websocket: true,
    isOverTlsAlone: false,
    webtransport: undefined,
    moved: undefined,
    others: [],
  };
  #isResuming = false;

  constructor(address: Address, options: ConnectOptions) {
    this.#given = address;
    this.#address = address;
    this.#options = options;
  }

  /**
   * Returns offers for carriers that resume a session. These need no token. Their address tells the
   * endpoint that they only resume.
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
   * The error for an endpoint without a usable carrier. A page that was loaded over plain HTTP from
   * another machine has no WebTransport, and is often not allowed to join.
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
    const found = await findEndpoint(this.#given, this.#address, this.#query, signal);
    this.#address = found.address;
    this.#discovery = found.discovery;
  }

  /**
   * Platforms report almost nothing about a carrier that did not open. So the endpoint is asked
   * again; if it refuses, its answer has the reason.
   */
  async explain(error: unknown, signal: AbortSignal): Promise<never> {
    try {
      await this.ask(signal);
    } catch (answer) {
      if (answer instanceof NowcastError && answer.fault === "refused") throw answer;
    }
    throw error;
  }

  async refresh(signal: AbortSignal): Promise<boolean> {
    const { host, port } = this.#address;
    try {
      await this.ask(signal);
    } catch {
      // If the endpoint does not answer now, its earlier answer is used.
    }
    signal.throwIfAborted();
    return host !== this.#address.host || port !== this.#address.port;
  }

  readonly open = async (kind: CarrierKind, signal: AbortSignal): Promise<OpenCarrier> => {
    const carrier = await this.#open(kind, signal);
    return this.#options.impair?.wrap(carrier) ?? carrier;
  };

  #open(kind: CarrierKind, signal: AbortSignal): Promise<OpenCarrier> {
    const { webtransport } = this.#discovery;
    if (kind === "websocket") {
      const scheme = this.#address.isEncrypted ? "wss" : "ws";
      return openWebSocket(addressUrl(this.#address, scheme, this.#query), this.#options.WebSocket, signal);
    }
    if (webtransport === undefined) {
      return Promise.reject(new NowcastError("network", "the endpoint no longer offers WebTransport"));
    }
    // A proxy with a base path forwards TCP only, so the path at the UDP port has none.
    const url = addressUrl({ ...this.#address, port: webtransport.port, base: "/" }, "https", this.#query);
    return openWebTransport(url, webtransport.certificateHashes, signal);
  }

  get #query(): Record<string, string | undefined> {
    return this.#isResuming ? { resume: "1" } : { token: this.#options.token };
  }
}

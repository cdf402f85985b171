/**
 * `listen`: an endpoint in Node, over WebSocket, so that a service can be hosted in plain
 * JavaScript.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { forAnyCarrier } from "../carrier/carrier.js";
import { isName } from "../connect/address.js";
import { NowcastError } from "../errors/nowcast-error.js";
import { ASYNC_DISPOSE } from "../events/cancellable-waits.js";
import type { SessionConfig } from "../session/index.js";
import { checkLimits, DEFAULT_LIMITS } from "../session/limits.js";
import { Acceptor, type AcceptorStats } from "./acceptor.js";
import { Admission, type AdmissionRequest, type Policy } from "./admission.js";
import { readAuthority } from "./page.js";
import { Publisher } from "./publisher.js";
import { Refusal } from "./refusal.js";
import { acceptUpgrade, UPGRADE_REQUIRED, WEBSOCKET_VERSION } from "./server-websocket.js";
import { Service } from "./service.js";

const PATH = /^\/nowcast\/([^/]*)$/;
const HEAD_BYTES_MAX = 8_192;
const HEAD_MS_MAX = 5_000;
const BACKLOG_MAX = 128;
/**
 * Maximum number of our own server's connections, for any purpose. It is higher than the maximum number of carriers.
 */
const CONNECTIONS_MAX = 4_096;
const PORT_MAX = 65_535;
const SESSIONS_MAX = 1_024;
const SESSIONS_PER_ADDRESS_MAX = 64;

export interface ListenOptions extends Policy {
  /** 7777 by default; 0 lets the system choose. */
  readonly port?: number | undefined;
  /**
   * 127.0.0.1 by default. An endpoint on 0.0.0.0 or :: is reachable from other machines, which need TLS: see `server`.
   */
  readonly host?: string | undefined;
  /**
   * A server of `node:http` or `node:https` to share. It may be listening already. The shared server still handles its
   * other requests.
   */
  readonly server?: Server | undefined;
  /** Maximum number of sessions, including sessions that wait to be resumed; 1,024 by default. */
  readonly sessionsMax?: number | undefined;
  /** Maximum number of sessions from one address; 64 by default. */
  readonly sessionsPerAddressMax?: number | undefined;
  /** Maximum number of a service's channels that wait to be accepted; 128 by default. */
  readonly backlogMax?: number | undefined;
  /** Limits, lane classes and bounds of each session. */
  readonly session?: Partial<SessionConfig> | undefined;
}

/** Opens an endpoint. */
export async function listen(options: ListenOptions = {}): Promise<Listener> {
  const { port = 7777, host = "127.0.0.1", server = hardenedServer() } = options;
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX) {
    throw new NowcastError("misuse", `port is ${String(port)}, not a whole number from 0 to ${PORT_MAX}`);
  }
  checkLimits({ ...DEFAULT_LIMITS, ...forAnyCarrier(options.session).limits });
  const listener = new Listener(server, options, server.listening ? hostOf(server) : host);
  if (server.listening) return listener;
  await new Promise<void>((resolve, reject) => {
    const fail = ({ message }: Error): void => {
      const cure = "choose another address or port; port 0 lets the system choose";
      reject(new NowcastError("misuse", `cannot listen on ${host}, port ${port} (${message})`, { cure }));
    };
    server.once("error", fail);
    server.listen(port, host, () => {
      server.off("error", fail);
      resolve();
    });
  });
  return listener;
}

/**
 * The address of a server that the caller started. A local socket may belong to any user, so it does not count as this
 * machine.
 */
function hostOf(server: Server): string {
  const address = server.address();
  return typeof address === "string" || address === null
    ? `the server at ${String(address)}`
    : address.address;
}

/**
 * Makes a server that closes connections with slow or long requests, and connections above a limit.
 */
function hardenedServer(): Server {
  const server = createServer({
    maxHeaderSize: HEAD_BYTES_MAX,
    headersTimeout: HEAD_MS_MAX,
    requestTimeout: HEAD_MS_MAX,
    keepAliveTimeout: HEAD_MS_MAX,
    connectionsCheckingInterval: 1_000,
  });
  server.maxConnections = CONNECTIONS_MAX;
  return server;
}

export class Listener {
  readonly #server: Server;
  readonly #admission: Admission;
  readonly #acceptor: Acceptor;
  readonly #services = new Map<string, Service>();
  readonly #backlogMax: number;
  #port = 0;
  readonly #restore: () => void;

  /** Made by {@link listen}. */
  constructor(server: Server, options: ListenOptions, host: string) {
    this.#server = server;
    this.#admission = new Admission(options, host);
    this.#backlogMax = options.backlogMax ?? BACKLOG_MAX;
    const { sessionsMax = SESSIONS_MAX, sessionsPerAddressMax = SESSIONS_PER_ADDRESS_MAX } = options;
    const { session = {} } = options;
    this.#acceptor = new Acceptor(this.#admission, { sessionsMax, sessionsPerAddressMax, session });
    this.#restore = this.#intercept();
  }

  /** The port on which the endpoint listens, or listened before it was closed; 0 for a local socket. */
  get port(): number {
    const address = this.#server.address();
    if (typeof address === "object" && address !== null) this.#port = address.port;
    return this.#port;
  }

  /** Refusals by code (`spec/CARRIERS.md`, section 2), sessions, and carrier counters. */
  get stats(): AcceptorStats & {
    readonly refusals: Readonly<Record<string, number>>;
    readonly sessions: number;
  } {
    const { stats, sessions } = this.#acceptor;
    return { ...stats, refused: { ...stats.refused }, refusals: { ...this.#admission.refused }, sessions };
  }

  /** Offers a service under a name with 1 to 64 characters among `a–z A–Z 0–9 . _ -`. */
  advertise(name: string): Service {
    if (!isName(name))
      throw new NowcastError("misuse", `"${name}" is not a name: 1 to 64 of a–z A–Z 0–9 . _ -`);
    if (this.#services.has(name)) throw new NowcastError("misuse", `"${name}" is advertised already`);
    const service = new Service(name, this.#backlogMax, () => this.#services.delete(name));
    this.#services.set(name, service);
    return service;
  }

  /** Publishes under a name: programs that connect to it become subscribers. */
  publish(name: string): Publisher {
    return new Publisher(this.advertise(name));
  }

  /** Closes all sessions with `going_away`, and the server. */
  async close(): Promise<void> {
    for (const service of [...this.#services.values()]) service.close();
    this.#acceptor.close();
    this.#restore();
    // The promise is stored for later callers.
    void this.port;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Called at the end of `await using`: closes the endpoint. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  /**
   * Handles requests of this endpoint before the other handlers of the server. The returned function restores these
   * handlers.
   */
  #intercept(): () => void {
    const server = this.#server;
    const requests = server.listeners("request");
    const upgrades = server.listeners("upgrade");
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
      if (nameIn(request) !== undefined || requests.length === 0) this.#answer(request, response);
      else for (const listener of requests) listener.call(server, request, response);
    };
    const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      if (nameIn(request) !== undefined || upgrades.length === 0) this.#upgrade(request, socket, head);
      else for (const listener of upgrades) listener.call(server, request, socket, head);
    };
    server.removeAllListeners("request").on("request", onRequest);
    server.removeAllListeners("upgrade").on("upgrade", onUpgrade);
    return () => {
      server.off("request", onRequest).off("upgrade", onUpgrade);
      for (const listener of requests) server.on("request", listener as (...args: unknown[]) => void);
      for (const listener of upgrades) server.on("upgrade", listener as (...args: unknown[]) => void);
    };
  }

  /** Describes the endpoint to clients that may join (section 2). */
  #answer(request: IncomingMessage, response: ServerResponse): void {
    const headers: Record<string, string> = {
      "content-type": "application/json",
      "cache-control": "no-store",
    };
    // Requests have no body here, so a body is not read.
    if (request.method !== "GET") headers["connection"] = "close";
    try {
      const asked = requestOf(request, false);
      const { origin } = asked.page;
      if (origin !== undefined && this.#admission.judgePage(asked) === undefined) {
        headers["access-control-allow-origin"] = origin;
        headers["vary"] = "Origin";
      }
      this.#check(request, asked);
      response.writeHead(200, headers);
      response.end(JSON.stringify({ nowcast: 1, name: asked.name, websocket: true }));
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      response.writeHead(this.#admission.count(refusal).status, headers);
      response.end(refusal.toJson());
    }
  }

  #check(request: IncomingMessage, asked: AdmissionRequest) {
    if (request.method !== "GET") {
      throw new Refusal("bad_request", `${request.method} is not answered here`, "use GET");
    }
    const service = this.#services.get(asked.name);
    const grant = this.#admission.check(asked);
    if (service === undefined) {
      const cure = "check the name, or start the service that has it";
      throw new Refusal("no_such_name", `nothing is called "${asked.name.slice(0, 64)}" here`, cure);
    }
    return { service, grant };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => {});
    let free: (() => void) | undefined;
    try {
      const asked = requestOf(request, true);
      const { service, grant } = this.#check(request, asked);
      free = this.#admission.take(asked.address, (address) => this.#acceptor.giveWay(grant, address));
      const carrier = acceptUpgrade(request, socket, head);
      request.socket.setNoDelay(true);
      request.socket.setTimeout(0);
      this.#acceptor.accept(carrier, service, grant, free);
    } catch (refusal) {
      free?.();
      if (!(refusal instanceof Refusal)) throw refusal;
      refuse(socket, this.#admission.count(refusal));
    }
  }
}

/** Host and path of a request, in absolute form (RFC 9112, section 3.2.2) or the usual form. */
function targetOf({ url = "" }: IncomingMessage): {
  readonly host: string | undefined;
  readonly path: string;
} {
  const [, host, path = url] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url) ?? [];
  return { host, path };
}

function nameIn(request: IncomingMessage): string | undefined {
  return PATH.exec(targetOf(request).path.split("?", 1)[0]!)?.[1];
}

function requestOf(request: IncomingMessage, opensCarrier: boolean): AdmissionRequest {
  const { socket, headers } = request;
  const { host = headers.host, path } = targetOf(request);
  checkHost(request, host);
  const query = new URLSearchParams(path.split("?")[1] ?? "");
  return {
    name: nameIn(request) ?? "",
    address: socket.remoteAddress ?? "",
    page: { host, origin: headers.origin },
    port: socket.localPort,
    opensCarrier,
    token: query.get("token") ?? undefined,
    isResuming: query.get("resume") === "1",
    isEncrypted: "encrypted" in socket && socket.encrypted === true,
  };
}

/**
 * Checks that a request of HTTP/1.1 has exactly one Host (RFC 9112, section 3.2). Node keeps the
 * first of several, and does not require one in an upgrade.
 */
function checkHost({ httpVersion, rawHeaders }: IncomingMessage, host: string | undefined): void {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length;
  const isGood = hosts === 1 || (hosts === 0 && httpVersion === "1.0");
  if (isGood && (host === undefined || readAuthority(host) !== undefined)) return;
  const what = hosts === 1 ? "a Host that is none" : `${hosts === 0 ? "no" : "more than one"} Host`;
  throw new Refusal("bad_request", `the request has ${what}`, "name the host that is asked, once");
}

function refuse(socket: Duplex, refusal: Refusal): void {
  const body = refusal.toJson();
  const head = [
    `HTTP/1.1 ${refusal.status} Refused`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    // RFC 6455, section 4.4: a request for another version or protocol is answered with the supported ones.
    ...(refusal.status === UPGRADE_REQUIRED
      ? ["Connection: close, Upgrade", "Upgrade: websocket", `Sec-WebSocket-Version: ${WEBSOCKET_VERSION}`]
      : ["Connection: close"]),
    "\r\n",
  ];
  socket.end(head.join("\r\n") + body);
  // A peer that does not read the answer is disconnected.
  setTimeout(() => socket.destroy(), HEAD_MS_MAX).unref();
}

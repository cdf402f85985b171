/**
 * Firefox without a window, controlled over its built-in WebDriver BiDi. It needs neither a driver nor a
 * special build.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { WebSocket } from "ws";
import type { LabBrowser, LabPage, Place } from "./tab.js";

const NAMES = ["firefox-esr", "firefox"];
const START_MS_MAX = 120_000;

/** Firefox makes no network requests except those of the test, and does not slow down background pages. */
const PREFERENCES = {
  "app.update.enabled": false,
  "browser.aboutwelcome.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.page": 0,
  "datareporting.policy.dataSubmissionEnabled": false,
  "dom.min_background_timeout_value": 4,
  "dom.timeout.enable_budget_timer_throttling": false,
  "extensions.getAddons.cache.enabled": false,
  "extensions.update.enabled": false,
  // Machines for tests have no graphics card.
  "webgl.force-enabled": true,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  // After failed WebSockets, Firefox delays the next one to the same port, by up to a minute. This is longer
  // than a session waits for its next carrier. The delay is switched off, because these tests cut a hundred
  // connections a minute, which does not happen to users.
  "network.websocket.delay-failed-reconnects": false,
  "services.settings.server": "data:,",
  "toolkit.telemetry.enabled": false,
} as const;

/** The system's Firefox, if there is one. If `NOWCAST_FIREFOX` is set, it must exist. */
export function firefoxPath(): string | undefined {
  const given = process.env["NOWCAST_FIREFOX"];
  if (given !== undefined && !existsSync(given)) {
    throw new Error(`NOWCAST_FIREFOX names ${given}, which is not there: ${FIREFOX_CURE}`);
  }
  const directories = (process.env["PATH"] ?? "").split(delimiter);
  const paths = directories.flatMap((directory) => NAMES.map((name) => join(directory, name)));
  return given ?? paths.find(existsSync);
}

export const FIREFOX_CURE = "`apt-get install firefox-esr`, or set NOWCAST_FIREFOX to its path";

/**
 * Messages of Firefox itself that it logs as JavaScript errors: about cut carriers, or icons that a policy
 * forbids.
 */
const UNCAUGHT = /^(uncaught |[a-z]*(error|exception)\b)/i;

/** The size of a window in CSS pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A page of a test, with its picture. */
export interface FirefoxPage {
  /** Errors in the page. */
  readonly errors: readonly string[];
  screenshot(): Promise<Buffer>;
  /** Returns the value of an expression; it must be one of JSON. */
  evaluate(expression: string): Promise<unknown>;
  close(): Promise<void>;
}

type Json = { readonly [key: string]: unknown };

export class Firefox implements LabBrowser {
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, { resolve(result: Json): void; reject(error: Error): void }>();
  readonly #errors = new Map<string, string[]>();
  #commands = 0;

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.#process = child;
    this.#profile = profile;
    this.#socket = socket;
    socket.on("message", (data: Buffer) => this.#received(JSON.parse(data.toString())));
    socket.on("close", () => this.#failAll("Firefox ended the connection"));
    socket.on("error", (error) => this.#failAll(error.message));
  }

  static async launch(): Promise<Firefox> {
    const path = firefoxPath();
    if (path === undefined) throw new Error(`these tests need Firefox: ${FIREFOX_CURE}`);
    const profile = mkdtempSync(join(tmpdir(), "nowcast-firefox-"));
    const lines = Object.entries(PREFERENCES).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
    );
    writeFileSync(join(profile, "user.js"), lines.join("\n"));
    // Without a screen Firefox draws no WebGL, so a screen is used where there is one, such as that of Xvfb.
    const screen = process.env["DISPLAY"] === undefined ? ["--headless"] : [];
    const options = [...screen, "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
    const child = spawn(path, options, { stdio: ["ignore", "ignore", "pipe"] });
    const address = await addressOf(child);
    const socket = new WebSocket(`${address}/session`);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    const firefox = new Firefox(child, profile, socket);
    await firefox.#command("session.new", { capabilities: {} });
    await firefox.#command("session.subscribe", { events: ["log.entryAdded"] });
    return firefox;
  }

  /** Opens a page in a window of this size, in CSS pixels. */
  async openPage(url: string, viewport: Size): Promise<FirefoxPage> {
    const { context } = await this.#command("browsingContext.create", { type: "tab" });
    const errors: string[] = [];
    this.#errors.set(String(context), errors);
    await this.#command("browsingContext.setViewport", { context, viewport });
    await this.#command("browsingContext.navigate", { context, url, wait: "complete" });
    return {
      errors,
      screenshot: async () => {
        const { data } = await this.#command("browsingContext.captureScreenshot", { context });
        return Buffer.from(String(data), "base64");
      },
      evaluate: async (expression) => {
        const { result } = await this.#command("script.evaluate", {
          expression: `JSON.stringify(${expression} ?? null)`,
          target: { context },
          awaitPromise: false,
        });
        return JSON.parse(String((result as Json)["value"] ?? "null"));
      },
      close: async () => void (await this.#command("browsingContext.close", { context })),
    };
  }

  async open(url: string): Promise<LabPage> {
    const { context } = await this.#command("browsingContext.create", { type: "tab" });
    const errors: string[] = [];
    this.#errors.set(String(context), errors);
    await this.#command("browsingContext.navigate", { context, url, wait: "complete" });
    return {
      errors,
      call: (place, method, args) => this.#call(String(context), place, method, args),
      close: async () => void (await this.#command("browsingContext.close", { context })),
    };
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGKILL");
    await ended;
    this.#socket.terminate();
    rmSync(this.#profile, { recursive: true, force: true });
  }

  /** Arguments and results are sent as JSON, because the lab of the page uses only JSON values. */
  async #call(context: string, place: Place, method: string, args: unknown[]): Promise<unknown> {
    const { type, result, exceptionDetails } = await this.#command("script.callFunction", {
      functionDeclaration: `async (call) => {
        const { place, method, args } = JSON.parse(call);
        return JSON.stringify((await globalThis.callLab[place](method, ...args)) ?? null);
      }`,
      arguments: [{ type: "string", value: JSON.stringify({ place, method, args }) }],
      target: { context },
      awaitPromise: true,
    });
    if (type !== "success") throw new Error(String((exceptionDetails as Json | undefined)?.["text"]));
    return JSON.parse(String((result as Json)["value"]));
  }

  #command(method: string, params: Json): Promise<Json> {
    return new Promise((resolve, reject) => {
      const id = ++this.#commands;
      this.#answers.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  #received(message: Json): void {
    const { id, type, method, params, result } = message;
    if (method === "log.entryAdded") return this.#logged(params as Json);
    const answer = this.#answers.get(Number(id));
    this.#answers.delete(Number(id));
    if (type === "success") answer?.resolve(result as Json);
    else answer?.reject(new Error(`Firefox answers ${message["error"]}: ${message["message"]}`));
  }

  #logged({ type, level, text, source }: Json): void {
    if (type !== "javascript" || level !== "error" || !UNCAUGHT.test(String(text))) return;
    this.#errors.get(String((source as Json)["context"]))?.push(String(text));
  }

  #failAll(words: string): void {
    for (const { reject } of this.#answers.values()) reject(new Error(words));
    this.#answers.clear();
  }
}

/** Waits until Firefox prints its address. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = (what: string): void => reject(new Error(`${what}; it said: ${said.slice(-2_000)}`));
    const timer = setTimeout(() => fail(`Firefox did not start within ${START_MS_MAX} ms`), START_MS_MAX);
    child.stderr!.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const found = /WebDriver BiDi listening on (ws:\/\/[^\s]+)/.exec(said)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(`Firefox ended with ${code}`));
  });
}

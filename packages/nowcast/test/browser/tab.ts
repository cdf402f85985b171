import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { build } from "vite";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import type { Lab } from "./page.js";

const ENTRY = fileURLToPath(new URL("./page.ts", import.meta.url));
const BLANK = '<!doctype html><title>Nowcast</title><script type="module" src="/page.js"></script>';

/** Serves the module of `page.ts`, SDK included, to pages and their workers. */
export async function servePage(): Promise<Server> {
  const lib = { entry: ENTRY, formats: ["es" as const], fileName: "page" };
  const bundle = await build({
    configFile: false,
    logLevel: "silent",
    build: { write: false, minify: false, lib, rollupOptions: { output: { inlineDynamicImports: true } } },
  });
  const output = (Array.isArray(bundle) ? bundle : [bundle]).flatMap((part) =>
    "output" in part ? part.output : [],
  );
  const code = output.find((part) => part.type === "chunk")!.code;
  const policy =
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src http: https: ws: wss:";
  const server = createServer((request, response) => {
    const isModule = request.url === "/page.js";
    const type = isModule ? "text/javascript" : "text/html";
    response.writeHead(200, { "content-type": type, "content-security-policy": policy });
    response.end(isModule ? code : BLANK);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** The origin of the pages that a server serves. */
export function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export type Place = "page" | "worker";

type CallLab = Record<Place, (method: string, ...args: unknown[]) => Promise<unknown>>;

/** A page of the lab in some browser. */
export interface LabPage {
  /** Errors that the page did not catch. */
  readonly errors: string[];
  call(place: Place, method: string, args: unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

/** A browser that can open pages of the lab. */
export interface LabBrowser {
  open(url: string): Promise<LabPage>;
  close(): Promise<void>;
}

/** Chromium, driven by Playwright. */
export class Chromium implements LabBrowser {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<Chromium> {
    return new Chromium(await launchBrowser());
  }

  async open(url: string): Promise<LabPage> {
    const page = await this.#browser.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(url);
    await page.waitForFunction(() => "callLab" in globalThis);
    return {
      errors,
      call: (place, method, args) =>
        page.evaluate(
          (call) => {
            const { callLab } = globalThis as unknown as { readonly callLab: CallLab };
            return callLab[call.place](call.method, ...call.args);
          },
          { place, method, args },
        ),
      close: () => page.close(),
    };
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

/** A page with a worker; the lab can be called in both. */
export class Tab {
  readonly #page: LabPage;

  private constructor(
    page: LabPage,
    readonly place: Place,
  ) {
    this.#page = page;
  }

  static async open(browser: LabBrowser, server: Server, place: Place): Promise<Tab> {
    return new Tab(await browser.open(`${originOf(server)}/`), place);
  }

  get errors(): readonly string[] {
    return this.#page.errors;
  }

  call<M extends keyof Lab>(method: M, ...args: Parameters<Lab[M]>): Promise<Awaited<ReturnType<Lab[M]>>> {
    return this.#page.call(this.place, method, args) as Promise<Awaited<ReturnType<Lab[M]>>>;
  }

  close(): Promise<void> {
    return this.#page.close();
  }
}

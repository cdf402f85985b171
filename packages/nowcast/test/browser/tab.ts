import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
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

export type Place = "page" | "worker";

type CallLab = Record<Place, (method: string, ...args: unknown[]) => Promise<unknown>>;

/** A page with a worker, in either of which the lab can be called. */
export class Tab {
  readonly errors: string[] = [];

  private constructor(
    readonly page: Page,
    readonly place: Place,
  ) {
    page.on("pageerror", (error) => this.errors.push(String(error)));
  }

  static async open(browser: Browser, server: Server, place: Place): Promise<Tab> {
    const page = await browser.newPage();
    const tab = new Tab(page, place);
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.waitForFunction(() => "callLab" in globalThis);
    return tab;
  }

  call<M extends keyof Lab>(method: M, ...args: Parameters<Lab[M]>): Promise<Awaited<ReturnType<Lab[M]>>> {
    const call = { place: this.place, method, args };
    return this.page.evaluate(({ place, method, args }) => {
      const { callLab } = globalThis as unknown as { readonly callLab: CallLab };
      return callLab[place](method, ...args);
    }, call) as Promise<Awaited<ReturnType<Lab[M]>>>;
  }
}

/**
 * Runs the package in a real browser under a strict content security policy, once with permission for WebAssembly and
 * once without.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";

const PACKAGES = fileURLToPath(new URL("../../..", import.meta.url));
/** The size of a page's scripts before it loads Rapier, which is 4 MB. */
const FIRST_BYTES_MAX = 400_000;

let server: Server;
let browser: Browser;
/** The requested files. */
let asked: string[] = [];
const files = new Map<string, Uint8Array>();

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [`${PACKAGES}/predict-rapier/test/browser/page.ts`],
    alias: {
      "nowcast/world": `${PACKAGES}/nowcast/src/world/index.ts`,
      "@nowcast/predict-rapier": `${PACKAGES}/predict-rapier/src/index.ts`,
    },
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    outdir: "/",
    write: false,
    logLevel: "error",
  });
  for (const { path, contents } of outputFiles) files.set(path, contents);
  server = createServer(({ url = "/" }, response) => {
    asked.push(url);
    const script = files.get(url);
    const policy = url === "/allowed" ? "'self' 'wasm-unsafe-eval'" : "'self'";
    response.setHeader(
      "content-security-policy",
      `default-src 'none'; script-src ${policy}; connect-src 'self'`,
    );
    response.setHeader("content-type", script === undefined ? "text/html" : "text/javascript");
    response.end(script ?? '<!doctype html><script type="module" src="/page.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  server?.close();
});

async function walkAt(path: string): Promise<string> {
  const page = await browser.newPage();
  asked = [];
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  await page.waitForFunction("globalThis.walk !== undefined");
  expect(asked.reduce((bytes, url) => bytes + (files.get(url)?.length ?? 0), 0)).toBeLessThan(
    FIRST_BYTES_MAX,
  );
  const answer = await page.evaluate<string>("globalThis.walk()");
  await page.close();
  return answer;
}

it("predicts where the policy allows WebAssembly, to the same bits as in Node", async () => {
  const answer = await walkAt("/allowed");
  const source = await import("./page.js").then(() =>
    (globalThis as unknown as { walk(): Promise<string> }).walk(),
  );
  expect(answer).toBe(source);
  expect(answer).toMatch(/^the block is at -[2-9]\./);
});

it("is refused with a named error where the policy does not", async () => {
  expect(await walkAt("/strict")).toBe("not_loaded");
});

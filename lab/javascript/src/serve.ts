import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium } from "playwright-core";
import type { Findings, Task } from "./types.js";

/** No eval, no inline code, nothing from other origins. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

const FLAGS = [
  "--no-sandbox",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const TIMEOUT_MS = 8 * 60_000;

/** Runs the task in Chromium, in a page served with a strict content security policy. */
export async function runInBrowser(task: Task, script: string, executablePath: string): Promise<Findings> {
  let found: (body: string) => void = () => {};
  const promise = new Promise<string>((resolve) => {
    found = resolve;
  });
  const server = serve(task, script, (body) => found(body));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  try {
    const page = await browser.newPage();
    const failed = new Promise<never>((_, reject) => {
      page.on("pageerror", reject);
      page.on("crash", () => reject(new Error("the page crashed")));
      setTimeout(() => reject(new Error("the page took too long")), TIMEOUT_MS).unref();
    });
    const { port } = server.address() as AddressInfo;
    await page.goto(`http://127.0.0.1:${port}/`);
    const posted = JSON.parse(await Promise.race([promise, failed])) as {
      findings?: Findings;
      error?: string;
    };
    if (posted.findings === undefined) throw new Error(posted.error ?? "the page found nothing");
    return { ...posted.findings, engine: `Chromium ${browser.version()}` };
  } finally {
    await browser.close();
    server.close();
  }
}

function serve(task: Task, script: string, found: (body: string) => void): Server {
  const files = new Map([
    [
      "/",
      {
        type: "text/html; charset=utf-8",
        body: '<!doctype html><script type="module" src="/page.js"></script>',
      },
    ],
    ["/page.js", { type: "text/javascript; charset=utf-8", body: script }],
    ["/task", { type: "application/json", body: JSON.stringify(task) }],
  ]);
  return createServer((request, response) => {
    if (request.method === "POST" && request.url === "/findings") {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        response.writeHead(204).end();
        found(Buffer.concat(chunks).toString());
      });
      return;
    }
    const file = files.get(request.url ?? "");
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    // Isolation gives the page the finest clock that browsers provide.
    response.writeHead(200, {
      "content-type": file.type,
      "content-security-policy": CONTENT_SECURITY_POLICY,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    });
    response.end(file.body);
  });
}

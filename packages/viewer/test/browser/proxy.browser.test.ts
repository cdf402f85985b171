import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nowcastBinary, ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const GUIDE = readFileSync(
  fileURLToPath(new URL("../../../../docs/how-to/deploy.md", import.meta.url)),
  "utf8",
);
const HOST = "world.example.org";
const ORIGIN = `https://${HOST}`;

let folder: string;
let browser: Browser;
let server: ServerProcess;
let nginx: ChildProcess;
let token: string;

/** The lines of the guide after a pattern, up to the end of their block. */
function guideLines(pattern: RegExp): string {
  const found = pattern.exec(GUIDE)?.[1];
  if (found === undefined) throw new Error(`the guide has no ${pattern}`);
  return found;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** The guide's configuration, with the place below a path, and with one whose path the proxy strips. */
function configuration(port: number): string {
  const below = guideLines(/### Below a path[\s\S]*?```nginx\n([\s\S]*?)```/);
  const stripped = below.replace("/game/", "/stripped/").replace("7777;", "7777/;");
  return guideLines(/```nginx\n(server [\s\S]*?)```/)
    .replace("  location /", `${below}${stripped}  location /`)
    .replace("listen 443", `listen 127.0.0.1:${port}`)
    .replaceAll(`/etc/letsencrypt/live/${HOST}`, folder)
    .replaceAll(":7777", `:${server.port}`);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "nowcast-proxy-"));
  const key = join(folder, "world.key");
  execFileSync(nowcastBinary(), ["token", "--make-key", key]);
  token = execFileSync(nowcastBinary(), ["token", "--key-file", key, "--name", "Eve", "--role", "editor"])
    .toString()
    .trim();
  const flags = guideLines(/nowcast serve my-world (--anonymous --proxy .*)/).split(" ");
  const base = guideLines(/add `(--base-path \S+)` to the flags/).split(" ");
  server = await ServerProcess.start(0, [...flags, ...base, "--token-key-file", key]);
  const certificate = ["-out", join(folder, "fullchain.pem"), "-keyout", join(folder, "privkey.pem")];
  const subject = ["-subj", `/CN=${HOST}`, "-addext", `subjectAltName=DNS:${HOST}`];
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  execFileSync("openssl", ["req", "-x509", ...ec, ...certificate, ...subject], { stdio: "ignore" });
  const port = await freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(" ");
  const main = `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {}`;
  const file = join(folder, "nginx.conf");
  writeFileSync(file, `${main}\nhttp { access_log off; ${temporary}\n${configuration(port)}}\n`);
  // Debian's nginx lies in a folder that is not in the PATH of ordinary users.
  const program = existsSync("/usr/sbin/nginx") ? "/usr/sbin/nginx" : "nginx";
  nginx = spawn(program, ["-e", "stderr", "-c", file], { stdio: ["ignore", "ignore", "pipe"] });
  const said: string[] = [];
  nginx.stderr!.on("data", (chunk) => said.push(String(chunk)));
  const isUp = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`).then(
      ({ status }) => status === 400,
      () => false,
    );
  await waitFor("nginx to listen", isUp).catch((error) => {
    throw new Error(`${error}: ${said.join("")}`);
  });
  browser = await launchBrowser([
    `--host-resolver-rules=MAP ${HOST}:443 127.0.0.1:${port}`,
    "--ignore-certificate-errors",
  ]);
});

afterAll(async () => {
  await browser?.close();
  nginx?.kill();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it.each(["/", "/game/", "/stripped/"])("a_page_behind_nginx_at_%s_enters_a_world", async (base) => {
  const url = `${ORIGIN}${base.slice(0, -1)}`;
  const visitor = await Visitor.knock(
    browser,
    { url },
    { name: "Ada", room: "park", path: "/", atStart: true },
  );
  const { page } = visitor;
  page.on("response", (response) => {
    if (response.status() >= 400) visitor.errors.push(`${response.status()} ${response.url()}`);
  });
  await page.locator("#worlds li").first().waitFor();
  expect(await page.locator("#share-link").getAttribute("href")).toContain(`${url}/r/`);
  await page.locator("#room").fill("park");
  await page.locator("#enter").click();
  await visitor.isIn();
  expect(new URL(page.url()).pathname).toBe(`${base}r/park`);
  await page.reload();
  await page.locator("#enter").click();
  await visitor.isIn();
  // A busy page may have lost a connection, and opened it again.
  const sockets = new Set(visitor.sockets.map((address) => address.split("?")[0]));
  expect([...sockets]).toEqual([`wss://${HOST}${base}nowcast/park`]);
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("the_studio_opens_below_a_path_and_leads_to_rooms_there", async () => {
  const visitor = await Visitor.enter(browser, { url: `${ORIGIN}/game` }, { name: "Ada", room: "park" });
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  // Without the slash at its end, the address is redirected.
  await page.goto(`${ORIGIN}/game/studio#token=${token}`);
  await page.getByRole("tabpanel").waitFor();
  expect(new URL(page.url()).pathname).toBe("/game/studio/");
  await page.getByText(/\d+ entities, \d+ awake/).waitFor();
  await page.locator("canvas").first().waitFor();
  expect(errors).toEqual([]);
  await page.close();
  await visitor.leave();
});

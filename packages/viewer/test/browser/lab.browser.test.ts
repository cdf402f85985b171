/** The page that measures a connection, as `nowcast lab browser` drives it over an emulated link. */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { nowcastBinary } from "../../../nowcast/test/server-process.js";
import { chromiumPath } from "./browser.js";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "nowcast-lab-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Links are emulated by root, or in namespaces of a user's own. */
function mayEmulateLinks(): boolean {
  return [["--net"], ["--user", "--map-root-user", "--net"]].some((flags) => {
    try {
      execFileSync("unshare", [...flags, "true"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
}

it.skipIf(!mayEmulateLinks())("works over both carriers of a page", async () => {
  const page = join(folder, "lab.html");
  const plan = ["--samples", "20", "--rtt", "20ms", "--browser", chromiumPath(), "--html", page];
  await run(nowcastBinary(), ["lab", "browser", ...plan]);
  const text = readFileSync(page, "utf8");
  for (const name of ["Nowcast, WebTransport", "Nowcast, WebSocket"]) expect(text).toContain(name);
});

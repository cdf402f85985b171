/** Runs the lines of the guide about deployment that concern systemd. `proxy.browser.test.ts` of the viewer runs those for nginx. */
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nowcastBinary, ServerProcess } from "../../nowcast/test/server-process.js";
import { ROOT, readRepositoryFile } from "../src/pages/repository.js";

const HOST = "world.example.org";

it("the_systemd_unit_serves_a_world_with_the_certificate_that_certbots_script_copies", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nowcast-deploy-"));
  const places: [string, string][] = [
    [`/etc/letsencrypt/live/${HOST}`, folder],
    ["/etc/nowcast", join(folder, "etc")],
    ["/usr/local/bin/nowcast", nowcastBinary()],
    ["/srv/worlds/my-world", join(ROOT, "worlds/minimal")],
    ["/var/lib/nowcast", join(folder, "data")],
    ["nowcast-tls", execFileSync("id", ["-gn"], { encoding: "utf8" }).trim()],
  ];
  const guide = places.reduce(
    (text, [from, to]) => text.replaceAll(from, to),
    readRepositoryFile("docs/how-to/deploy.md"),
  );
  const ca = join(folder, "fullchain.pem");
  const certificate = ["-out", ca, "-keyout", join(folder, "privkey.pem"), "-subj", `/CN=${HOST}`];
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const name = ["-addext", `subjectAltName=DNS:${HOST}`];
  execFileSync("openssl", ["req", "-x509", ...ec, ...certificate, ...name], { stdio: "ignore" });
  execFileSync("sh", ["-c", /```sh\n(#!\/bin\/sh[\s\S]*?)```/.exec(guide)![1]!]);

  const unit = /nowcast\.service`:[\s\S]*?```ini\n([\s\S]*?)```/.exec(guide)![1]!;
  const file = join(folder, "nowcast.service");
  writeFileSync(file, unit);
  // systemd ignores unknown keys, and warns of them.
  const { error, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
  expect(error ?? stderr).toBe("");

  const command = /^ExecStart=\S+ serve (.*) --port 443 (.*)$/m.exec(unit)!;
  const server = await ServerProcess.start(0, `${command[1]} ${command[2]}`.split(" "));
  const options = { port: server.port, ca: readFileSync(ca), servername: HOST, agent: false };
  const [response] = (await once(get("https://127.0.0.1/r/minimal", options), "response")) as [
    IncomingMessage,
  ];
  expect(response.statusCode).toBe(200);
  response.destroy();
  await server.stop("SIGTERM");
  rmSync(folder, { recursive: true });
});

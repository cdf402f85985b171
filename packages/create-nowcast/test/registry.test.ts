/** The small registry that serves the packages before they are published. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startRegistry } from "./registry.mjs";

type Registry = Awaited<ReturnType<typeof startRegistry>>;

let folder: string;
let started: Registry[];

beforeEach(() => {
  started = [];
  folder = mkdtempSync(join(tmpdir(), "registry-"));
});

afterEach(() => {
  for (const { server } of started) server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a registry with one package of this name. */
async function registryWith(name: string, others?: string): Promise<Registry> {
  const packages = join(folder, `packages-${name}`);
  mkdirSync(join(packages, "package"), { recursive: true });
  writeFileSync(join(packages, "package", "package.json"), JSON.stringify({ name, version: "1.2.3" }));
  execFileSync("tar", ["-C", packages, "-czf", join(packages, `${name}-1.2.3.tgz`), "package"]);
  const registry = await startRegistry(packages, 0, others);
  started.push(registry);
  return registry;
}

it("serves its own packages, and refuses others", async () => {
  const { address } = await registryWith("near");
  const found = await (await fetch(`${address}/near`)).json();
  expect(found).toMatchObject({ name: "near", "dist-tags": { latest: "1.2.3" } });
  expect((await fetch(found.versions["1.2.3"].dist.tarball)).status).toBe(200);
  expect((await fetch(`${address}/far`)).status).toBe(404);
});

it("redirects requests for other packages to the registry that has them", async () => {
  const far = await registryWith("far");
  const { address } = await registryWith("near", far.address);
  expect(await (await fetch(`${address}/near`)).json()).toMatchObject({ name: "near" });
  const found = await (await fetch(`${address}/far`)).json();
  expect(found.versions["1.2.3"].dist.tarball).toBe(`${far.address}/-/far-1.2.3.tgz`);
});

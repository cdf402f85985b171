/** The packed SDK works as installed from npm: a program of ten lines, a page, the example of the front page. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listen } from "../../src/node/index.js";
import { type Packed, packSdk } from "./packed.js";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const BIN = join(ROOT, "node_modules/.bin");

/** Time limit for packing, which builds the SDK and calls npm twice. */
const PACKING_MS_MAX = 120_000;
/** The current Node, and others named by `NOWCAST_NODES`. */
const NODES = [process.execPath, ...(process.env["NOWCAST_NODES"]?.split(delimiter) ?? [])];

const PROGRAM = `import { connect } from "nowcast";
import { listen } from "nowcast/node";
const listener = await listen({ port: 0 });
const service = listener.advertise("tracker");
const client = await connect(\`nowcast://127.0.0.1:\${listener.port}/tracker\`);
const channel = await service.accept();
client.state(7, new TextEncoder().encode("here"));
const message = await channel.receive();
console.log(message.key, new TextDecoder().decode(message.value));
await listener.close();
`;

/** The first block of TypeScript on the front page. */
function readmeExample(): string {
  const page = readFileSync(join(ROOT, "README.md"), "utf8");
  return /```ts\n(.*?)```/s.exec(page)![1]!;
}

let packed: Packed;
beforeAll(async () => {
  packed = await packSdk();
}, PACKING_MS_MAX);
afterAll(() => packed.remove());

describe("the packed SDK", () => {
  it("has its licences, its types and maps to its sources", () => {
    for (const name of [
      "LICENSE-MIT",
      "LICENSE-APACHE",
      "README.md",
      "dist/index.d.ts",
      "dist/index.js.map",
    ]) {
      expect(packed.files).toContain(name);
    }
    for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) {
      expect(readFileSync(join(packed.folder, "node_modules/nowcast", name), "utf8")).toBe(
        readFileSync(join(ROOT, name), "utf8"),
      );
    }
  });

  it("passes publint and attw", async () => {
    await run(join(BIN, "publint"), [packed.tarball, "--strict"]);
    await run(join(BIN, "attw"), [packed.tarball, "--profile", "esm-only"]);
  });

  it.each(NODES)("runs a program of ten lines in %s", async (node) => {
    const program = await packed.write("program.js", PROGRAM);
    expect((await run(node, [program])).stdout).toBe("7 here\n");
  });

  it("runs the front page's example as printed, and its types hold", async () => {
    const listener = await listen({ port: 0 });
    const serving = (async () => {
      const channel = await listener.advertise("tracker").accept();
      channel?.state(7, Uint8Array.of(1, 2, 3));
      await channel?.drained();
      channel?.close();
    })();
    try {
      const example = readmeExample();
      const source = await packed.write("example.ts", example);
      const compiler = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", source];
      await run(join(BIN, "tsc"), compiler, { cwd: packed.folder });
      const program = await packed.write("example.js", example.replace("7777", String(listener.port)));
      const { stdout } = await run(process.execPath, [program]);
      expect(stdout).toMatch(/^7 Uint8Array\(3\) \[ 1, 2, 3 \] [\d.]+\n$/);
    } finally {
      await listener.close();
      await serving;
    }
  });

  it("becomes a page by Vite, without the modules for Node", async () => {
    await packed.write("index.html", '<script type="module" src="/page.js"></script>');
    await packed.write("page.js", 'import { connect } from "nowcast";\nawait connect("tracker");\n');
    const built = await build({
      configFile: false,
      root: packed.folder,
      logLevel: "error",
      build: { write: false, target: "es2022" },
    });
    const parts = (Array.isArray(built) ? built : [built]).flatMap((part) =>
      "output" in part ? part.output : [],
    );
    const entry = parts.find((part) => part.type === "chunk" && part.isEntry);
    expect(entry?.type === "chunk" && entry.code.length).toBeGreaterThan(10_000);
    expect(entry?.type === "chunk" && entry.code).not.toMatch(/node:|Sec-WebSocket-Key/);
  });
});

it("stays within the size budget of a page", async () => {
  const { stdout } = await run(process.execPath, [join(ROOT, "packages/nowcast/sizes.mjs"), "--check"]);
  expect(stdout).toContain("| nowcast/world | joinWorld |");
});

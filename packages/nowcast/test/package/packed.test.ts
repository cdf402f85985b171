/** The packed SDK works as installed from npm: a program of ten lines, a page, the types of the front page's example. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BIN, blocksOf, PACKING_MS_MAX, Packed, type Project, ROOT } from "./packed.js";

const run = promisify(execFile);

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
  return blocksOf(readFileSync(join(ROOT, "README.md"), "utf8"), "ts")[0]!;
}

let packed: Packed;
let project: Project;
beforeAll(async () => {
  packed = await Packed.pack("nowcast");
  project = await packed.install("nowcast");
}, PACKING_MS_MAX);
afterAll(() => packed?.remove());

describe("the packed SDK", () => {
  it("has its licences, its types and maps to its sources, and passes attw", async () => {
    await packed.expectPublishable();
    for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) {
      const installed = join(project.folder, "node_modules/nowcast", name);
      expect(readFileSync(installed, "utf8")).toBe(readFileSync(join(ROOT, name), "utf8"));
    }
    await run(join(BIN, "attw"), [packed.tarball, "--profile", "esm-only"]);
  });

  it.each(NODES)("runs a program of ten lines in %s", async (node) => {
    const program = await project.write("program.js", PROGRAM);
    expect((await run(node, [program])).stdout).toBe("7 here\n");
  });

  it("has the types of the front page's example", async () => {
    const source = await project.write("example.ts", readmeExample());
    const compiler = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", source];
    await run(join(BIN, "tsc"), compiler, { cwd: project.folder });
  });

  it("becomes a page by Vite, without the modules for Node", async () => {
    await project.write("index.html", '<script type="module" src="/page.js"></script>');
    await project.write("page.js", 'import { connect } from "nowcast";\nawait connect("tracker");\n');
    const code = (await project.bundle()).get("index");
    expect(code?.length).toBeGreaterThan(10_000);
    expect(code).not.toMatch(/node:|Sec-WebSocket-Key/);
  });
});

it("stays within the size budget of a page", async () => {
  const { stdout } = await run(process.execPath, [join(ROOT, "packages/nowcast/sizes.mjs"), "--check"]);
  expect(stdout).toContain("| nowcast/world | joinWorld |");
});

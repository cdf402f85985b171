/** A stock client of the Model Context Protocol with the tools of `nowcast mcp`. */
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterEach, describe, expect, it } from "vitest";
import { nowcastBinary, ServerProcess } from "../../nowcast/test/server-process.js";

const FOOTBALL = fileURLToPath(new URL("../../../worlds/football", import.meta.url));

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function assistant(): Promise<Client> {
  const server = await ServerProcess.start(0, ["--world", `football=${FOOTBALL}`]);
  cleanups.push(() => server.stop());
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({ command: nowcastBinary(), args: ["mcp", `127.0.0.1:${server.port}`] }),
  );
  cleanups.push(() => client.close());
  return client;
}

describe("a stock client of the Model Context Protocol", () => {
  it("lists the tools with descriptions and schemas", async () => {
    const client = await assistant();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["rooms", "write_file", "run_tests", "replay"]),
    );
    for (const { name, description, inputSchema } of tools) {
      expect(description, name).toMatch(/\.$/);
      expect(inputSchema.type, name).toBe("object");
    }
  });

  it("reads the rules of a world and runs its tests", async () => {
    const client = await assistant();
    const call = async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 120_000 });
      expect(result.isError, JSON.stringify(result.content)).not.toBe(true);
      return result.structuredContent as Record<string, unknown>;
    };
    const rules = await call("read_file", { world: "football", path: "world.luau" });
    expect(rules["text"]).toContain("@nowcast/world");
    const tests = await call("run_tests", { world: "football" });
    expect(tests["passed"], String(tests["output"])).toBe(true);
  }, 180_000);

  it("is told the reason and the cure of a refused call", async () => {
    const client = await assistant();
    const result = await client.callTool({ name: "room", arguments: { room: "nowhere" } });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain("not_found");
  });
});

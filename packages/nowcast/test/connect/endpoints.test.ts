import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type Address, readAddress } from "../../src/connect/address.js";
import { findEndpoint } from "../../src/connect/endpoints.js";

/** An endpoint of a cluster that answers with these members. */
interface FakeEndpoint {
  readonly origin: string;
  readonly address: Address;
  members: { readonly moved?: string; readonly others?: readonly string[] };
  asked: number;
  isSilent: boolean;
  end(): Promise<void>;
}

const open: FakeEndpoint[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((endpoint) => endpoint.end()));
});

async function startEndpoint(): Promise<FakeEndpoint> {
  const server: Server = createServer((_, response) => {
    endpoint.asked++;
    if (endpoint.isSilent) return;
    response.end(JSON.stringify({ nowcast: 1, name: "yard", websocket: true, ...endpoint.members }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoint: FakeEndpoint = {
    origin,
    address: readAddress(`${origin}/nowcast/yard`),
    members: {},
    asked: 0,
    isSilent: false,
    end: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  open.push(endpoint);
  return endpoint;
}

function find(given: FakeEndpoint): Promise<string> {
  const { signal } = new AbortController();
  return findEndpoint(given.address, given.address, {}, signal).then(
    ({ address }) => `http://${address.host}:${address.port}`,
  );
}

describe("the endpoint of a service in a cluster", () => {
  it("is the one to which the asked endpoint sends the client", async () => {
    const [a, b] = [await startEndpoint(), await startEndpoint()];
    a.members = { moved: b.origin };
    expect(await find(a)).toBe(b.origin);
    expect([a.asked, b.asked]).toEqual([1, 1]);
  });

  it("is the fifth one when endpoints send the client on and on", async () => {
    const [a, b] = [await startEndpoint(), await startEndpoint()];
    a.members = { moved: b.origin };
    b.members = { moved: a.origin };
    expect(await find(a)).toBe(a.origin);
    expect([a.asked, b.asked]).toEqual([3, 2]);
  });

  it("is another one when the one that the program gave has ended or is silent", async () => {
    const [a, b] = [await startEndpoint(), await startEndpoint()];
    a.members = { others: [b.origin] };
    expect(await find(a)).toBe(a.origin);
    a.isSilent = true;
    expect(await find(a)).toBe(b.origin);
    await a.end();
    expect(await find(a)).toBe(b.origin);
  });

  it("is refused with the first endpoint's error when no endpoint of the cluster answers", async () => {
    const [a, b] = [await startEndpoint(), await startEndpoint()];
    a.members = { others: [b.origin] };
    await find(a);
    await a.end();
    // The directory still names the server that has ended.
    b.members = { moved: a.origin };
    await expect(find(a)).rejects.toMatchObject({ fault: "network", code: "unreachable" });
  });
});

import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { ServerWebSocket } from "../../src/node/server-websocket.js";

/** A connection whose kernel accepts writes at once, until it is full. */
class Connection extends Duplex {
  isFull = false;
  #left: (() => void) | undefined;

  override _read(): void {}

  override _write(_chunk: Uint8Array, _encoding: string, done: () => void): void {
    if (this.isFull) this.#left = done;
    else done();
  }

  drain(): void {
    this.isFull = false;
    this.#left?.();
  }
}

test("while the kernel takes nothing, one packet at most is bound and waits", async () => {
  const connection = new Connection();
  const carrier = new ServerWebSocket(connection, new Uint8Array(0));
  const packet = new Uint8Array(1_380);
  const drained = new Promise<void>((resolve) => {
    carrier.begin({ packet: () => {}, room: resolve, ended: () => {} });
  });
  for (let sent = 0; sent < 100; sent += 1) {
    expect(carrier.hasRoom, "a kernel that takes packets at once is not a reason to wait").toBe(true);
    carrier.send(packet);
  }
  connection.isFull = true;
  let bound = 0;
  for (; carrier.hasRoom && bound < 100; bound += 1) carrier.send(packet);
  expect(bound).toBe(1);
  connection.drain();
  await drained;
  expect(carrier.hasRoom).toBe(true);
  carrier.close(1000, "");
});

import { expect, it, vi } from "vitest";
import { Emitter } from "../../src/events/emitter.js";

interface Events {
  tick: number;
}

it("ends although a listener unsubscribes and subscribes again inside its callback", () => {
  const emitter = new Emitter<Events>();
  const heard: number[] = [];
  const listen = (): void => {
    const off = emitter.on("tick", (tick) => {
      heard.push(tick);
      if (heard.length > 10) throw new Error("it never ends");
      off();
      listen();
    });
  };
  listen();
  emitter.emit("tick", 1);
  expect(heard).toEqual([1]);
  emitter.emit("tick", 2);
  expect(heard).toEqual([1, 2]);
});

it("does not call a listener that an earlier one took off in the same event", () => {
  const emitter = new Emitter<Events>();
  const heard: string[] = [];
  emitter.on("tick", () => offSecond());
  const offSecond = emitter.on("tick", () => heard.push("second"));
  emitter.on("tick", () => heard.push("third"));
  emitter.emit("tick", 1);
  expect(heard).toEqual(["third"]);
});

it("takes off one of two entries of the same function, once", () => {
  const emitter = new Emitter<Events>();
  const listener = vi.fn();
  const off = emitter.on("tick", listener);
  emitter.on("tick", listener);
  off();
  off();
  emitter.emit("tick", 1);
  expect(listener).toHaveBeenCalledTimes(1);
});

it("continues after a listener that throws, and rejects a listener that is not a function", () => {
  const emitter = new Emitter<Events>();
  const report = vi.spyOn(console, "error").mockImplementation(() => {});
  const heard: number[] = [];
  emitter.on("tick", () => {
    throw new Error("broken");
  });
  emitter.on("tick", (tick) => heard.push(tick));
  emitter.emit("tick", 1);
  expect(heard).toEqual([1]);
  expect(report).toHaveBeenCalledOnce();
  report.mockRestore();
  expect(() => emitter.on("tick", "listener" as never)).toThrow(
    'a listener of "tick" is a function, not a string',
  );
});

it("calls no listener after its end, not even those that the event has not reached", () => {
  const emitter = new Emitter<Events>();
  const heard: number[] = [];
  emitter.on("tick", () => emitter.end());
  emitter.on("tick", (tick) => heard.push(tick));
  emitter.emit("tick", 1);
  emitter.emit("tick", 2);
  expect(heard).toEqual([]);
});

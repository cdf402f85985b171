import { describe, expect, it } from "vitest";
import { judge, summarise } from "../src/lab/round-trips.js";

describe("the lab page's verdict on a connection", () => {
  const steady = Array.from({ length: 250 }, (_, at) => 50 + (at % 5));

  it("praises one where every message came on time", () => {
    const summary = summarise(steady);
    expect(summary).toMatchObject({ back: 250, late: 0, onTimePercent: 100 });
    expect(judge(summary).mark).toBe("good");
  });

  it("names the stall behind a lost message", () => {
    const trips = steady.map((trip, at) => (at > 100 && at < 110 ? 250 - (at - 100) * 20 : trip));
    const summary = summarise(trips);
    const { mark, words } = judge(summary);
    expect(mark).toBe("poor");
    expect(words).toContain("9 messages were late");
    expect(words).toContain("230 ms instead of 50");
  });

  it("counts a message that never returned as late", () => {
    expect(summarise([10, 10, undefined, 10]).late).toBe(1);
    expect(judge(summarise([undefined])).words).toBe("Nothing came back.");
  });
});

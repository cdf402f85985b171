import { describe, expect, it } from "vitest";
import { errorText, StudioApi, StudioError } from "../src/api/studio-api.js";
import { linePath, roundUp } from "../src/chart.js";
import { carrierText, figuresOf } from "../src/clients/client-figures.js";
import { notesAfter } from "../src/code/notes.js";
import { lineText, matches } from "../src/events/log-view.js";
import { meanOf, plotsOf, rateOf } from "../src/events/metrics.js";
import { hookName } from "../src/step/flame.js";
import { readValue, shortText, stepsText } from "../src/value.js";
import { readSearch } from "../src/world/search.js";

interface Request {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

function apiWith(status: number, answer: unknown): { readonly api: StudioApi; readonly requests: Request[] } {
  const requests: Request[] = [];
  const api = new StudioApi("/studio/api", async (url, { method, headers, body }) => {
    const sent = body === undefined ? undefined : JSON.parse(String(body));
    requests.push({ url, method, headers: headers as Record<string, string>, body: sent });
    return new Response(JSON.stringify(answer), { status });
  });
  return { api, requests };
}

describe("the client of the studio's interface", () => {
  it("names_of_rooms_and_files_are_escaped_in_addresses", async () => {
    const { api, requests } = apiWith(200, {});
    await api.room("a/b?c");
    await api.file("w", "lib/a b.luau");
    await api.entities({ type: "room", room: "r" }, { kind: "a&b", tag: undefined }, { limit: 5 });
    expect(requests.map(({ url }) => url)).toEqual([
      "/studio/api/rooms/a%2Fb%3Fc",
      "/studio/api/worlds/w/files/lib/a%20b.luau",
      "/studio/api/rooms/r/entities?kind=a%26b&limit=5",
    ]);
  });

  it("the_token_is_a_header_and_changes_are_json", async () => {
    const { api, requests } = apiWith(200, { results: [] });
    api.token = "secret";
    await api.command("r", [{ type: "despawn", entity: 3 }]);
    const { method, headers, body, url } = requests[0]!;
    expect(method).toBe("POST");
    expect(headers).toEqual({ Authorization: "Bearer secret", "Content-Type": "application/json" });
    expect(body).toEqual({ commands: [{ type: "despawn", entity: 3 }] });
    expect(url).not.toContain("secret");
  });

  it("a_save_states_the_revision_that_was_edited", async () => {
    const { api, requests } = apiWith(200, { revision: "b" });
    await api.save("w", "world.luau", "x", "a");
    expect(requests[0]!.headers["If-Match"]).toBe('"a"');
    await api.save("w", "world.luau", "x", undefined);
    expect(requests[1]!.headers["If-Match"]).toBeUndefined();
  });

  it("a_refusal_has_its_code_its_cure_and_the_revision", async () => {
    const error = { code: "changed", message: "the file changed", cure: "read it again", revision: "c" };
    const refused = await apiWith(412, { error })
      .api.save("w", "a.luau", "", "a")
      .catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(StudioError);
    expect(refused).toMatchObject({ status: 412, code: "changed", revision: "c" });
    expect(errorText(refused)).toBe("the file changed. read it again");
    const api = new StudioApi("", async () => new Response("<html>", { status: 502 }));
    expect(errorText(await api.rooms().catch((thrown: unknown) => thrown))).toBe("the server answered 502");
  });
});

describe("texts of the studio", () => {
  it("a_search_has_words_and_named_parts", () => {
    expect(readSearch("  ")).toBeUndefined();
    expect(readSearch("red ball kind:block t:goal a:hp=3")).toEqual({
      search: "red ball",
      kind: "block",
      tag: "goal",
      attribute: "hp=3",
    });
    expect(readSearch("#12 near:0,1,2,5")).toEqual({ search: "#12", near: "0,1,2,5" });
  });

  it("an_edited_value_is_json_and_text_stays_text", () => {
    expect(readValue("[1, 2, 3]", null)).toEqual([1, 2, 3]);
    expect(readValue("5", 4)).toBe(5);
    expect(readValue("5", "four")).toBe("5");
    expect(readValue('"a"', "b")).toBe("a");
    expect(() => readValue("five", 4)).toThrow(/not a value/);
    expect(shortText("x".repeat(90))).toHaveLength(80);
    expect(stepsText(-7_260)).toBe("2 min 1 s");
  });

  it("a_filter_searches_names_data_and_places_of_lines", () => {
    const line = { n: 1, tick: 2, type: "event", name: "goal", data: { team: "red" } } as const;
    expect(lineText(line)).toBe('goal {"team":"red"}');
    expect(matches(line, { types: new Set(["event"]), text: "RED" })).toBe(true);
    expect(matches(line, { types: new Set(["print"]), text: "" })).toBe(false);
    expect(lineText({ n: 1, tick: 2, type: "error", file: "world.luau", line: 3, text: "no" })).toBe(
      "world.luau:3 no",
    );
  });

  it("a_line_of_a_plot_has_gaps_for_missing_values_and_a_round_scale", () => {
    expect(linePath([0, 5, null, 10], 30, 10, 10)).toBe("M0.0 10.0L10.0 5.0M30.0 0.0");
    expect([0, 3, 10, 0.07, 1_234].map(roundUp)).toEqual([1, 5, 10, 0.1, 2_000]);
  });
});

describe("the metrics of the last hour", () => {
  it("a_counter_becomes_a_rate_that_skips_a_restart", () => {
    expect(rateOf([null, 10, 20, 5, 15], 5_000)).toEqual([null, null, 2, null, 2]);
  });

  it("a_sum_and_a_count_become_a_mean_of_the_new_values", () => {
    expect(meanOf([0, 1, 1, 4], [0, 2, 2, 3])).toEqual([null, 0.5, null, 3]);
  });

  it("known_series_get_names_and_units_and_others_keep_their_names", () => {
    const series = [
      { name: "process_cpu_seconds_total", values: [1, 2] },
      { name: "nowcast_new_things", values: [7, 8] },
    ];
    const plots = plotsOf({ intervalMs: 5_000, times: [0, 5_000], series });
    expect(plots.map(({ label }) => label)).toEqual(["Processor", "nowcast_new_things"]);
    expect(plots[0]!.text(plots[0]!.values[1]!)).toBe("20 % of a core");
  });
});

describe("the figures of a client", () => {
  it("members_that_are_not_measured_are_left_out", () => {
    const client = {
      player: 1,
      name: "Ada",
      carrier: "webtransport",
      role: [],
      networkHz: 20,
      behindMs: null,
      rttMs: 42.4,
      lossPerMille: 12,
      rateBytes: null,
      queuedBytes: 800,
      queued: 3,
      superseded: null,
      inputs: { taken: 1_200, late: 3, missing: 1 },
    } as const;
    expect(figuresOf(client)).toEqual([
      ["round trip", "42 ms"],
      ["loss", "1.2 %"],
      ["waiting", "3 (800 B)"],
      ["inputs taken", "1,200"],
      ["inputs late", "3"],
      ["inputs missing", "1"],
    ]);
    expect(carrierText(client)).toBe("WebTransport, 20 Hz");
  });
});

describe("the flame of a step", () => {
  it("a_function_is_named_by_its_hook_its_name_and_its_kind", () => {
    const sums = { file: "world.luau", line: 3, calls: 1, us: 2, usMax: 2, units: 5, bytes: 0 };
    expect(hookName({ hook: "step", name: null, kind: "ball", ...sums })).toBe("step of ball");
    expect(hookName({ hook: "action", name: "kick", kind: null, ...sums })).toBe("action kick");
  });
});

describe("the notes beside lines", () => {
  it("errors_last_until_the_next_version_of_the_rules_and_prints_remain", () => {
    const at = { tick: 1, file: "world.luau", line: 6 };
    const error = {
      n: 2,
      type: "error",
      text: "world.luau:6: it broke; version 1 runs again",
      ...at,
    } as const;
    const printed = { n: 3, type: "print", text: "hello", ...at } as const;
    const shown = notesAfter([], [error, printed]);
    expect(shown.map(({ text }) => text)).toEqual(["it broke; version 1 runs again", "hello"]);
    const repaired = notesAfter(shown, [{ n: 4, tick: 2, type: "rules", text: "version 3 runs" }]);
    expect(repaired.map(({ text }) => text)).toEqual(["hello"]);
  });
});

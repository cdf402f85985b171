import { expect, it } from "vitest";
import { reachOf } from "../src/hud/connection-banner.js";

it("steady_connection_is_good_also_while_its_carrier_is_replaced", () => {
  expect(reachOf("open", "steady")).toBe("good");
  expect(reachOf("reconnecting", "steady")).toBe("good");
});

it("banner_shows_the_connection_that_the_sdk_measures", () => {
  expect(reachOf("open", "unstable")).toBe("unstable");
  expect(reachOf("open", "lost")).toBe("lost");
  expect(reachOf("reconnecting", "unstable")).toBe("lost");
  expect(reachOf("reconnecting", "lost")).toBe("lost");
});

it("first_attempt_and_end_are_shown_whatever_the_silence", () => {
  expect(reachOf("connecting", "lost")).toBe("connecting");
  expect(reachOf("closed", "lost")).toBe("closed");
});

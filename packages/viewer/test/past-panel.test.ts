import { expect, it } from "vitest";
import { MomentRequests, readPast } from "../src/hud/past-panel.js";

const STATE = { room: "plaza", from: 1000, to: 9000, at: 5000, playing: true, exact: false };

it("reads the server's moment, and rejects all other values", () => {
  expect(readPast(STATE)).toEqual(STATE);
  expect(readPast({ ...STATE, to: 0, playing: 1, exact: undefined })).toMatchObject({
    to: 1000,
    playing: false,
    exact: true,
  });
  for (const wrong of [undefined, null, "plaza", 7, [], {}, { ...STATE, at: "now" }, { ...STATE, room: 1 }]) {
    expect(readPast(wrong)).toBeUndefined();
  }
  expect(readPast({ ...STATE, from: Number.NaN })).toBeUndefined();
});

it("requests the newest selected moment, with a limited rate", () => {
  const asked: number[] = [];
  const requests = new MomentRequests((moment) => asked.push(moment));
  expect(requests.isFresh(0)).toBe(false);
  for (let ms = 0; ms <= 500; ms += 50) requests.want(ms, ms);
  expect(asked).toEqual([0]);
  requests.update(599);
  expect(asked).toEqual([0]);
  requests.update(600);
  expect(asked).toEqual([0, 500]);
  requests.update(5000);
  expect(asked).toEqual([0, 500]);
  expect(requests.isFresh(700)).toBe(true);
  expect(requests.isFresh(5000)).toBe(false);
});

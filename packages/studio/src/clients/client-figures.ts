import type { Client, ClientDetails } from "../api/types.js";
import { bytesText } from "../value.js";

/** Upper bounds of the shown ages, in milliseconds. */
const AGE_BOUNDS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/** A figure that the carrier does not measure. */
const NONE = "–";

export function msText(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  if (value >= 10_000) return `${(value / 1_000).toFixed(1)} s`;
  return value < 10 ? `${+value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

export function countText(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : value.toLocaleString("en");
}

export function sizeText(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : bytesText(value);
}

export function lossText({ lossPerMille }: Client): string {
  return lossPerMille === null ? NONE : `${(lossPerMille / 10).toFixed(1)} %`;
}

export function queueText({ queued, queuedBytes }: Client): string {
  return queued === null ? NONE : `${queued} (${bytesText(queuedBytes ?? 0)})`;
}

const CARRIERS: Readonly<Record<Client["carrier"], string>> = {
  webtransport: "WebTransport",
  websocket: "WebSocket",
  local: "this machine",
  session: "session",
  plain: "plain protocol",
};

export function carrierText({ carrier, networkHz }: Client): string {
  return `${CARRIERS[carrier]}, ${networkHz} Hz`;
}

/** The figures of one client by name. Figures that the carrier does not measure are left out. */
export function figuresOf(client: Client): readonly (readonly [string, string])[] {
  const { agesMs, bytes, inputs } = client;
  const figures: (readonly [string, string])[] = [
    ["round trip", msText(client.rttMs)],
    ["jitter", msText(client.jitterMs)],
    ["loss", lossText(client)],
    ["queueing", msText(client.queueingMs)],
    ["rate limit", client.rateBytes === null ? NONE : `${bytesText(client.rateBytes)}/s`],
    ["waiting", queueText(client)],
    ["replaced", countText(client.superseded)],
    ["sent again", countText(client.resent)],
    ["view delay", msText(client.behindMs)],
    ["visible entities", countText(client.visible)],
    ["resumed", countText(client.resumed)],
    ["sent", sizeText(client.sentBytes)],
    ["received", sizeText(client.receivedBytes)],
  ];
  if (agesMs) {
    figures.push(["age near", msText(agesMs.near)], ["age middle", msText(agesMs.middle)]);
    figures.push(["age far", msText(agesMs.far)]);
  }
  if (bytes) {
    figures.push(["movement", bytesText(bytes.movement)], ["descriptions", bytesText(bytes.description)]);
    figures.push(["events", bytesText(bytes.event)]);
  }
  if (inputs) {
    figures.push(["inputs taken", countText(inputs.taken)], ["inputs late", countText(inputs.late)]);
    figures.push(["inputs missing", countText(inputs.missing)]);
  }
  return figures.filter(([, text]) => text !== NONE);
}

/** Merges the server's fine buckets into wider ones, each with a label. */
export function ageBuckets(
  fine: ClientDetails["agesMs"],
): readonly { readonly label: string; readonly count: number }[] {
  const labels = [...AGE_BOUNDS.map((bound) => `≤ ${msText(bound)}`), "more"];
  const counts = labels.map(() => 0);
  for (const { ms, count } of fine) {
    const index = ms === null ? -1 : AGE_BOUNDS.findIndex((bound) => ms <= bound);
    counts[index < 0 ? AGE_BOUNDS.length : index]! += count;
  }
  return labels.map((label, index) => ({ label, count: counts[index]! }));
}

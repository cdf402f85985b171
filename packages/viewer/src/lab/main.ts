/** The lab page: measures this connection over WebTransport and WebSocket, side by side. */

import { NowcastError } from "nowcast";
import type { CarrierKind } from "nowcast/internal";
import { element } from "../dom.js";
import { Probe } from "./probe.js";
import { ProbeCard } from "./probe-card.js";
import { judge, quantile, summarise } from "./round-trips.js";

const KINDS: readonly CarrierKind[] = ["webtransport", "websocket"];
/** Time limit for opening a carrier, because a network may drop all packets of a carrier. */
const OPEN_MS_MAX = 10_000;

interface Result {
  readonly browser: string;
  readonly address: string;
  readonly samples: number;
  readonly intervalMs: number;
  readonly carriers: Record<string, unknown>;
}

interface Run {
  readonly kind: CarrierKind;
  readonly card: ProbeCard;
  readonly probe: Probe | undefined;
  readonly problem: string | undefined;
}

const form = element("plan", HTMLFormElement);
const run = element("run", HTMLButtonElement);
const download = element("download", HTMLButtonElement);
const samplesField = element("samples", HTMLInputElement);
const intervalField = element("interval", HTMLSelectElement);
let result: Result | undefined;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void measure();
});
download.addEventListener("click", () => {
  if (result === undefined) return;
  const url = URL.createObjectURL(
    new Blob([JSON.stringify(result, undefined, 2)], { type: "application/json" }),
  );
  const link = document.createElement("a");
  link.href = url;
  link.download = "nowcast-lab.json";
  link.click();
  URL.revokeObjectURL(url);
});

// `/lab?samples=100&interval=50` starts the measurement at once. It is for programs that control the page.
const wishes = new URLSearchParams(location.search);
samplesField.value = wishes.get("samples") ?? samplesField.value;
const interval = wishes.get("interval");
if (interval !== null) {
  if (![...intervalField.options].some((option) => option.value === interval)) {
    intervalField.add(new Option(`${interval} ms`, interval));
  }
  intervalField.value = interval;
}
if (wishes.has("samples")) void measure();

async function measure(): Promise<void> {
  if (!form.reportValidity()) return;
  run.disabled = true;
  download.disabled = true;
  delete document.body.dataset["result"];
  const samples = Number(samplesField.value);
  const intervalMs = Number(intervalField.value);
  const runs = await Promise.all(KINDS.map((kind) => open(kind, samples)));
  const draw = (isDone: boolean): void => {
    const longest = Math.max(...runs.map(({ probe }) => probe?.trips.reduce<number>(later, 0) ?? 0), 50);
    for (const { probe, card } of runs)
      if (probe !== undefined) card.draw(probe.trips, longest * 1.05, isDone);
  };
  let isDrawing = false;
  const changed = (): void => {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      draw(false);
    });
  };
  await Promise.all(runs.map(({ probe }) => probe?.echo(samples, intervalMs, changed)));
  draw(true);
  await Promise.all(runs.map(({ probe }) => probe?.stream()));
  for (const { probe } of runs) probe?.close();
  showAges(runs);
  const carriers = Object.fromEntries(runs.map((run) => [run.kind, describe(run)]));
  result = {
    browser: navigator.userAgent,
    address: new URL(".", location.href).href,
    samples,
    intervalMs,
    carriers,
  };
  document.body.dataset["result"] = JSON.stringify(result);
  download.disabled = false;
  run.disabled = false;
}

function later(latest: number, trip: number | undefined): number {
  return Math.max(latest, trip ?? 0);
}

async function open(kind: CarrierKind, samples: number): Promise<Run> {
  const card = new ProbeCard(kind, samples);
  const cards = element("probes", HTMLElement);
  cards.querySelector(`[data-carrier="${kind}"]`)?.remove();
  cards.append(card.element);
  try {
    const probe = await Probe.open(kind, wishes.get("token") ?? undefined, AbortSignal.timeout(OPEN_MS_MAX));
    return { kind, card, probe, problem: undefined };
  } catch (error) {
    const isKnown = error instanceof NowcastError || error instanceof DOMException;
    const problem = isKnown ? error.message : String(error);
    card.fail(problem);
    return { kind, card, probe: undefined, problem };
  }
}

function describe({ probe, problem }: Run): unknown {
  if (probe === undefined) return { problem };
  const summary = summarise(probe.trips);
  const ages = [...probe.ages].sort((a, b) => a - b);
  return {
    summary,
    verdict: judge(summary),
    age: { p50Ms: quantile(ages, 0.5), p99Ms: quantile(ages, 0.99), looks: ages.length },
    trips: probe.trips.map((trip) => trip ?? null),
  };
}

function showAges(runs: readonly Run[]): void {
  const rows = runs
    .filter(({ probe }) => probe !== undefined)
    .map(({ kind, probe }) => {
      const ages = [...(probe?.ages ?? [])].sort((a, b) => a - b);
      const at = (share: number): string => `${quantile(ages, share).toFixed(0)} ms`;
      return [kind, at(0.5), at(0.99), String(ages.length)];
    });
  fill("ages", ["over", "half younger than", "99 % younger than", "looks"], rows);
}

function fill(id: string, heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const table = element(id, HTMLTableElement);
  table.replaceChildren();
  const head = table.createTHead().insertRow();
  for (const text of heads) head.append(Object.assign(document.createElement("th"), { textContent: text }));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const text of row) line.insertCell().textContent = text;
  }
}

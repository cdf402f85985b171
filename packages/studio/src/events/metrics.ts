import type { MetricsHistory } from "../api/types.js";
import { numberText } from "../chart.js";
import { bytesText } from "../value.js";

type Values = readonly (number | null)[];

/** One plot over the last hour. */
export interface Plot {
  readonly label: string;
  readonly values: Values;
  readonly text: (value: number) => string;
}

const count = (value: number): string => numberText(value);
const perSecond = (value: number): string => `${numberText(value)}/s`;
const milliseconds = (value: number): string => `${numberText(value * 1_000)} ms`;
const bytesPerSecond = (value: number): string => `${bytesText(value)}/s`;

/** The change of a counter in each second; `null` where the server started anew. */
export function rateOf(values: Values, intervalMs: number): (number | null)[] {
  return values.map((value, index) => {
    const earlier = values[index - 1];
    if (value === null || earlier === null || earlier === undefined || value < earlier) return null;
    return ((value - earlier) * 1_000) / intervalMs;
  });
}

/** The mean of a histogram's new values: the change in its sum, divided by the change in its count. */
export function meanOf(sums: Values, counts: Values): (number | null)[] {
  const [sumRates, countRates] = [rateOf(sums, 1_000), rateOf(counts, 1_000)];
  return sumRates.map((sum, index) => {
    const number = countRates[index];
    return sum === null || !number ? null : sum / number;
  });
}

/** The plots of the server's series, with units. Series without a plot appear under their names. */
export function plotsOf({ series, intervalMs }: MetricsHistory): readonly Plot[] {
  const known = new Map(series.map(({ name, values }) => [name, values]));
  const take = (name: string): Values => {
    const values = known.get(name) ?? [];
    known.delete(name);
    return values;
  };
  const rate = (name: string) => rateOf(take(name), intervalMs);
  const counts = take("nowcast_tick_seconds_count");
  const plots: Plot[] = [
    {
      label: "Processor",
      values: rate("process_cpu_seconds_total"),
      text: (value) => `${(value * 100).toFixed(0)} % of a core`,
    },
    { label: "Memory", values: take("process_resident_memory_bytes"), text: bytesText },
    { label: "Clients", values: take("nowcast_clients"), text: count },
    { label: "Rooms", values: take("nowcast_rooms"), text: count },
    {
      label: "Step of a room, mean",
      values: meanOf(take("nowcast_tick_seconds_sum"), counts),
      text: milliseconds,
    },
    {
      label: "Processor time of a step, mean",
      values: meanOf(take("nowcast_tick_cpu_seconds_sum"), counts),
      text: milliseconds,
    },
    {
      label: "Encoding of snapshots",
      values: rate("nowcast_snapshot_encode_seconds_sum"),
      text: (value) => `${(value * 100).toFixed(1)} % of a core`,
    },
    { label: "Awake bodies", values: take("nowcast_bodies_awake"), text: count },
    { label: "Sent", values: rate('nowcast_bytes_total{direction="out"}'), text: bytesPerSecond },
    { label: "Received", values: rate('nowcast_bytes_total{direction="in"}'), text: bytesPerSecond },
    { label: "Messages sent", values: rate('nowcast_messages_total{direction="out"}'), text: perSecond },
    { label: "Messages received", values: rate('nowcast_messages_total{direction="in"}'), text: perSecond },
    {
      label: "Snapshots replaced by newer ones",
      values: rate("nowcast_snapshots_superseded_total"),
      text: perSecond,
    },
    { label: "Steps skipped", values: rate("nowcast_steps_skipped_total"), text: perSecond },
    { label: "Connections", values: take("nowcast_connections"), text: count },
    { label: "Open files", values: take("process_open_fds"), text: count },
    { label: "Log lines dropped", values: rate("nowcast_log_lines_dropped_total"), text: perSecond },
  ];
  const rest = [...known.keys()].map((name): Plot => {
    const isCounter = /_total(?:\{|$)/.test(name);
    return isCounter
      ? { label: name, values: rate(name), text: perSecond }
      : { label: name, values: take(name), text: count };
  });
  return [...plots, ...rest].filter(({ values }) => values.length > 0);
}

import type { Profile } from "../api/types.js";
import { make } from "../dom.js";

export const PHASES = ["world", "changes", "store", "replication", "other"] as const;

/** Bars that are narrower than this share of the frame have no text. */
const LABEL_SHARE_MIN = 0.06;

/** Milliseconds as text. */
export function msText(us: number): string {
  if (us < 10) return `${+us.toFixed(1)} µs`;
  return us < 1_000 ? `${us.toFixed(0)} µs` : `${(us / 1_000).toFixed(2)} ms`;
}

/** A rules' function by name, such as `step of ball` or `action kick`. */
export function hookName({ hook, name, kind }: Profile["hooks"][number]): string {
  const of = kind === null ? "" : ` of ${kind}`;
  return `${hook}${name === null ? "" : ` ${name}`}${of}`;
}

interface Bar {
  readonly name: string;
  readonly us: number;
  /** The start within the frame, in microseconds. */
  readonly from: number;
  readonly className: string;
}

/** The mean step as a flame: the step, its phases, the rules within the phase `world`, and their functions. */
export function flame(profile: Profile): HTMLElement {
  const { steps, hooks, hookSteps = 0 } = profile;
  const count = Math.max(1, steps.length);
  const mean = (value: (step: Profile["steps"][number]) => number): number =>
    steps.reduce((sum, step) => sum + value(step), 0) / count;
  const total = mean(({ totalUs }) => totalUs);
  let from = 0;
  const phases = PHASES.map((name, index): Bar => {
    const us = mean((step) => step.phases[name] ?? 0);
    from += us;
    return { name, us, from: from - us, className: `phase-key-${index}` };
  });
  const world = phases[0]!;
  const rulesUs = mean((step) => step.rulesUs ?? 0);
  const inside: Bar[] =
    rulesUs === 0
      ? []
      : [
          { name: "rules", us: rulesUs, from: world.from, className: "rules" },
          {
            name: "physics and motion",
            us: Math.max(0, world.us - rulesUs),
            from: world.from + rulesUs,
            className: "physics",
          },
        ];
  let at = world.from;
  const functions = hooks.map((hook): Bar => {
    const us = hook.us / Math.max(1, hookSteps);
    at += us;
    return { name: hookName(hook), us, from: at - us, className: "hook" };
  });
  const rows = [[{ name: "step", us: total, from: 0, className: "whole" }], phases, inside, functions];
  return make(
    "div",
    { class: "flame", role: "img", "aria-label": flameText(total, phases) },
    ...rows.filter((row) => row.length > 0).map((row) => flameRow(row, Math.max(1, total))),
  );
}

function flameText(total: number, phases: readonly Bar[]): string {
  return `Mean step ${msText(total)}: ${phases.map(({ name, us }) => `${name} ${msText(us)}`).join(", ")}`;
}

function flameRow(bars: readonly Bar[], total: number): HTMLElement {
  const boxes = bars
    .filter(({ us }) => us > 0)
    .map(({ name, us, from, className }) => {
      const share = us / total;
      const box = make(
        "div",
        { class: className, title: `${name}: ${msText(us)}, ${(share * 100).toFixed(1)} %` },
        share < LABEL_SHARE_MIN ? "" : `${name} ${msText(us)}`,
      );
      box.style.left = `${(from / total) * 100}%`;
      box.style.width = `${Math.min(share, 1 - from / total) * 100}%`;
      return box;
    });
  return make("div", { class: "flame-row" }, ...boxes);
}

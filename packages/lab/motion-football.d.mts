/** One kick: the distances in metres on the kicker's screen and on the server. */
export interface Kick {
  readonly by: string;
  readonly atS: number;
  readonly shownM: number;
  readonly judgedM: number;
  readonly isCounted: boolean;
  readonly behindMs: number;
  readonly isGuessed: boolean;
  readonly ownErrorM: number | null;
}

export interface Plan {
  readonly address: string;
  readonly seconds: number;
  readonly seed: number;
  readonly isEnough?: (kicks: readonly Kick[]) => boolean;
  readonly nextFrame: () => Promise<unknown>;
}

export declare const REACH_M: number;

export declare function football(plan: Plan): Promise<{
  readonly kicks: readonly Kick[];
  readonly unanswered: number;
  readonly carrier: string;
}>;

import type { WorldView } from "@nowcast/three";
import { type Emote, packEmote } from "@nowcast/three/internal";
import type { Entity } from "nowcast/world";
import type { Settings } from "../settings.js";

/** The parts of the page that the appearance of the local avatar needs. */
export interface AppearanceParts {
  readonly view: WorldView | undefined;
  readonly settings: Readonly<Settings>;
}

/**
 * Gives the local avatar the clothes in the settings, and its gestures. Both are attributes of the avatar, which every
 * kind of walker has; an avatar without them keeps the appearance that the world gives to it.
 */
export class Appearance {
  readonly #page: AppearanceParts;
  /** The avatar and the clothes that were sent last, so that a refusal is not answered by the same request. */
  #dressed: Entity | undefined;
  #outfit = 0;
  #count = 0;

  constructor(page: AppearanceParts) {
    this.#page = page;
  }

  /** Sends the clothes if the avatar is new, or if the user chose others. Called in each frame. */
  update(): void {
    const { view, settings } = this.#page;
    const world = view?.world;
    const avatar = world?.avatar;
    if (!avatar || world?.status !== "open") return;
    if (avatar === this.#dressed && settings.outfit === this.#outfit) return;
    this.#dressed = avatar;
    this.#outfit = settings.outfit;
    const isWorn = avatar.attributes["outfit"] === settings.outfit;
    if (!isWorn && has(avatar, "outfit", "u32")) world.set(avatar.id, { outfit: settings.outfit });
  }

  /** Shows a gesture to all players. Returns false if the avatar has none. */
  emote(emote: Emote): boolean {
    const world = this.#page.view?.world;
    const avatar = world?.avatar;
    if (!avatar || !has(avatar, "emote", "u16")) return false;
    this.#count++;
    world?.set(avatar.id, { emote: packEmote(emote, this.#count) });
    return true;
  }
}

function has({ kind }: Entity, name: string, type: string): boolean {
  return (
    kind.walker !== undefined && kind.attributes.some((field) => field.name === name && field.type === type)
  );
}

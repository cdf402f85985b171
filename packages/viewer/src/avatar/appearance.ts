import type { WorldView } from "@nowcast/three";
import type { Entity } from "nowcast/world";
import type { Settings } from "../settings.js";

/** The parts of the page that the appearance of the local avatar needs. */
export interface AppearanceParts {
  readonly view: WorldView | undefined;
  readonly settings: Readonly<Settings>;
}

/**
 * Gives the local avatar the clothes in the settings. They are an attribute of the avatar; an avatar without the attribute
 * keeps the appearance that the world gives to it.
 */
export class Appearance {
  readonly #page: AppearanceParts;
  /** The avatar and the clothes that were sent last, so that a refusal is not answered by the same request. */
  #dressed: Entity | undefined;
  #outfit = 0;

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
    const { walker, attributes } = avatar.kind;
    const has =
      walker !== undefined && attributes.some(({ name, type }) => name === "outfit" && type === "u32");
    const isWorn = avatar.attributes["outfit"] === settings.outfit;
    if (!isWorn && has) world.set(avatar.id, { outfit: settings.outfit });
  }
}

import type { WorldScene } from "@nowcast/three";
import type { Hud } from "../hud/hud.js";
import type { Net } from "../net.js";
import type { People } from "../people.js";
import type { VoicePage } from "./offer.js";

/** The parts of the page that voices need. */
export interface VoiceParts {
  readonly net: Net | undefined;
  readonly people: People;
  readonly scene: WorldScene;
  readonly hud: Hud;
}

/** The page as voices see it: who is here, where they are shown, and who is told what. */
export function voicePageOf(parts: VoiceParts): VoicePage {
  return {
    get definition() {
      return parts.net?.world.definition;
    },
    get player() {
      return parts.net?.player;
    },
    *others() {
      for (const [id, { name, avatarId }] of parts.people.all) {
        if (id === parts.net?.player) continue;
        yield { id, name, spot: avatarId === undefined ? undefined : parts.scene.crowd.get(avatarId) };
      }
    },
    act: (action, args) => parts.net?.act(action, args),
    say: (text) => parts.hud.say(text),
    mark: (player, speaks) => {
      const avatar = parts.people.avatarOf(player);
      if (avatar !== undefined) parts.scene.labels.setSpeaking(avatar, speaks);
    },
  };
}

import type { PeopleList } from "@nowcast/page";
import { peopleIn, type VoicePage } from "@nowcast/page/internal";
import type { WorldScene } from "@nowcast/three/internal";
import type { Hud } from "../hud/hud.js";
import type { WorldConnection } from "../world-connection.js";

/** The parts of the page that voices need. */
export interface VoiceParts {
  readonly connection: WorldConnection | undefined;
  readonly scene: WorldScene;
  readonly hud: Hud;
  readonly peopleList: PeopleList;
}

/** The page's interface for voices: the players, their shown places, and functions that send signals. */
export function voicePageOf(parts: VoiceParts): VoicePage {
  return {
    get definition() {
      return parts.connection?.world.definition;
    },
    get player() {
      return parts.connection?.player;
    },
    *others() {
      for (const { id, name, avatarId } of peopleIn(parts.connection?.world)) {
        if (id === parts.connection?.player) continue;
        yield { id, name, spot: avatarId === undefined ? undefined : parts.scene.crowd.get(avatarId) };
      }
    },
    act: (action, args) => parts.connection?.act(action, args),
    say: (text) => parts.hud.say(text),
    choices: () => parts.peopleList.choices,
    mark: (player, speaks) => {
      const avatar = parts.connection?.playerOf(player)?.avatarId;
      if (avatar === undefined) return;
      parts.scene.labels.setSpeaking(avatar, speaks);
      parts.scene.crowd.setSpeaking(avatar, speaks);
    },
  };
}

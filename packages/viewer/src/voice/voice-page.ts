import type { PeopleList } from "@nowcast/page";
import { peopleIn, type VoicePage } from "@nowcast/page/internal";
import type { WorldView } from "@nowcast/three";
import type { WorldScene } from "@nowcast/three/internal";
import type { PlayerId } from "nowcast/world";
import type { Hud } from "../hud/hud.js";

/** The parts of the page that voices need. */
export interface VoiceParts {
  readonly view: WorldView | undefined;
  readonly scene: WorldScene;
  readonly hud: Hud;
  readonly peopleList: PeopleList;
}

/** The page's interface for voices: the players, their shown places, and functions that send signals. */
export function voicePageOf(parts: VoiceParts): VoicePage {
  return {
    get definition() {
      return parts.view?.world.definition;
    },
    get player() {
      return parts.view?.world.playerId;
    },
    *others() {
      const world = parts.view?.world;
      for (const { id, name, avatarId } of peopleIn(world)) {
        if (id === world?.playerId) continue;
        yield { id, name, spot: avatarId === undefined ? undefined : parts.scene.crowd.get(avatarId) };
      }
    },
    act: (action, args) => void parts.view?.world.act(action, args),
    say: (text) => parts.hud.say(text),
    choices: () => parts.peopleList.choices,
    mark: (player, speaks) => {
      const avatar = parts.view?.world.players.get(player as PlayerId)?.avatarId;
      if (avatar === undefined) return;
      parts.scene.labels.setSpeaking(avatar, speaks);
      parts.scene.crowd.setSpeaking(avatar, speaks);
    },
  };
}

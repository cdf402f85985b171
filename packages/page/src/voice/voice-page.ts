import type { WorldView } from "@nowcast/three";
import type { PlayerId } from "nowcast/world";
import type { ControlsDisplay } from "../hud/controls-display.js";
import { peopleIn } from "../people.js";
import type { VoicePage } from "./voice-toggle.js";

/** The parts of the page that voices need. */
export interface VoiceParts {
  readonly view: WorldView | undefined;
}

/** The page's interface for voices: the players, their shown places, and functions that send signals. */
export function voicePageOf(parts: VoiceParts, hud: ControlsDisplay): VoicePage {
  return {
    get definition() {
      return parts.view?.world.definition;
    },
    get player() {
      return parts.view?.world.playerId;
    },
    *others() {
      const { view } = parts;
      for (const { id, name, avatarId } of peopleIn(view?.world)) {
        if (id === view?.world.playerId) continue;
        yield {
          id,
          name,
          spot: avatarId === undefined ? undefined : view?.scene.crowd.get(avatarId)?.position,
        };
      }
    },
    act: (action, args) => void parts.view?.world.act(action, args),
    say: (text) => hud.say(text),
    choices: () => hud.peopleList.choices,
    mark: (player, speaks) => {
      const { view } = parts;
      const avatar = view?.world.players.get(player as PlayerId)?.avatarId;
      if (avatar === undefined) return;
      view?.scene.labels.setSpeaking(avatar, speaks);
      view?.scene.crowd.setSpeaking(avatar, speaks);
    },
  };
}

import type { OrbitCamera, VoiceToggle } from "@nowcast/page";
import type { Actor, PeopleListPage } from "@nowcast/page/internal";
import type { WorldView } from "@nowcast/three";
import type { WorldScene } from "@nowcast/three/internal";
import type { PlayerId } from "nowcast/world";
import type { Hud } from "./hud/hud.js";
import { words } from "./words.js";

/** The parts of the page that the list of people needs. */
export interface PeopleParts {
  readonly view: WorldView | undefined;
  readonly own: Actor | undefined;
  readonly scene: WorldScene;
  readonly camera: OrbitCamera;
  readonly hud: Hud;
  readonly voice: VoiceToggle;
}

/** The page's interface for the list of people. */
export function peopleListPageOf(parts: PeopleParts): PeopleListPage {
  return {
    get world() {
      return parts.view?.world;
    },
    find: (player) => find(parts, player),
    choose: (player, choice) => parts.voice.choose(player, choice),
    say: (text) => parts.hud.say(text),
  };
}

/** Turns the camera to the avatar of a player, and says how far away it is. */
function find({ view, own, scene, camera, hud }: PeopleParts, player: number): void {
  const known = view?.world.players.get(player as PlayerId);
  const name = known?.name ?? words.guest;
  const avatar = known?.avatarId;
  const shown = avatar === undefined ? undefined : (scene.crowd.get(avatar) ?? scene.get(avatar));
  if (!shown || !own) return hud.say(words.isOutOfSight(name));
  const [dx, dz] = [shown.x - own.x, shown.z - own.z];
  camera.yaw = Math.atan2(-dx, -dz);
  hud.say(words.isAway(name, Math.round(Math.hypot(dx, shown.y - own.y, dz))));
}

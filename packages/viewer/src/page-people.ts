import type { OrbitCamera, VoiceToggle } from "@nowcast/page";
import type { Actor, PeopleListPage } from "@nowcast/page/internal";
import type { WorldScene } from "@nowcast/three/internal";
import type { Hud } from "./hud/hud.js";
import { words } from "./words.js";
import type { WorldConnection } from "./world-connection.js";

/** The parts of the page that the list of people needs. */
export interface PeopleParts {
  readonly connection: WorldConnection | undefined;
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
      return parts.connection?.world;
    },
    find: (player) => find(parts, player),
    choose: (player, choice) => parts.voice.choose(player, choice),
    say: (text) => parts.hud.say(text),
  };
}

/** Turns the camera to the avatar of a player, and says how far away it is. */
function find({ connection, own, scene, camera, hud }: PeopleParts, player: number): void {
  const known = connection?.playerOf(player);
  const name = known?.name ?? words.guest;
  const avatar = known?.avatarId;
  const shown = avatar === undefined ? undefined : (scene.crowd.get(avatar) ?? scene.get(avatar));
  if (!shown || !own) return hud.say(words.isOutOfSight(name));
  const [dx, dz] = [shown.x - own.x, shown.z - own.z];
  camera.yaw = Math.atan2(-dx, -dz);
  hud.say(words.isAway(name, Math.round(Math.hypot(dx, shown.y - own.y, dz))));
}

import type { Player, World } from "nowcast/world";

/** Returns the people in a world's room: the players without the programs. */
export function peopleIn(world: Pick<World, "players"> | undefined): readonly Player[] {
  return [...(world?.players.values() ?? [])].filter(({ isProgram }) => !isProgram);
}

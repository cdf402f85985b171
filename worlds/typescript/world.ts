/** A ball, a goal and a score: the world of the first tutorial, in TypeScript. */
import * as world from "@nowcast/world";

world.about({
  goal: "Kick the ball into the white goal.",
  how: ["Hold {kick} near the ball to kick; the longer, the harder."],
});

/** Saved data: it survives every change of this file. */
export const state = world.state({ goals: 0 });

const Floor = world.kind("floor", {
  body: { motion: "fixed", shape: "box", size: vector.create(40, 1, 40) },
  look: { shape: "box", color: "#86a866", sea: -3 },
});
const Tree = world.kind("tree", {
  body: { motion: "fixed", shape: "cylinder", radius: 0.25, height: 3.75 },
  look: { model: "@nowcast/kit/tree" },
});
const Person = world.kind("person", { walker: {} });
const Ball = world.kind("ball", {
  body: { shape: "sphere", radius: 0.4, mass: 0.5, restitution: 0.7, linear_damping: 1, angular_damping: 1 },
  look: { shape: "sphere", color: "#e67e22" },
  attributes: { kicks: { type: "u32", default: 0 }, color: { type: "text", default: "#e67e22" } },
  tags: ["ball"],
});
const Goal = world.kind("goal", {
  body: { motion: "sensor", shape: "box", size: vector.create(4, 2, 1) },
  look: { shape: "box", color: "#ffffff", opacity: 0.4 },
});

const PLACE_OF_BALL = vector.create(0, 2, -3);

const scored = world.event("goal", { goals: "u32", by: "player?" });

/** Gives the ball its own colour again. */
const cool = world.timer("cool", (data: { ball: world.Entity }) => {
  if (Ball.is(data.ball)) data.ball.color = "#e67e22";
});

world.on("start", () => {
  Floor.spawn({ at: vector.create(0, -0.5, 0) });
  Ball.spawn({ at: PLACE_OF_BALL });
  Goal.spawn({ at: vector.create(0, 1, -12) });
  for (let number = 0; number < 10; number++) {
    const angle = number * 0.63;
    const at = vector.create(16 * Math.sin(angle), 1.875, 16 * Math.cos(angle));
    Tree.spawn({ at, yaw: 2 * number });
  }
});

world.on("join", (player) => {
  // Players start side by side, so that they do not overlap.
  player.spawn_avatar(Person, { at: vector.create(((player.id % 7) - 3) * 1.2, 1, 3) });
});

// Players and balls that fall off the edge are put back.
Person.on("step", (person) => {
  if (person.position.y < -10) {
    person.position = vector.create(0, 1, 3);
    person.velocity = vector.zero;
  }
});
Ball.on("step", (ball) => {
  if (ball.position.y < -10) putBack(ball);
});

world.action(
  "kick",
  { power: { type: "f32", min: 0, max: 1, step: 0.01, default: 0.5 } },
  (player, kick) => {
    const avatar = player.avatar;
    if (avatar === undefined) return;
    for (const ball of Ball.all()) {
      if (ball.distance(avatar) >= 1.5) continue;
      const direction = avatar.facing.add(vector.create(0, 0.3, 0));
      ball.apply_impulse(direction.mul(1 + 3 * kick.power));
      ball.kicks += 1;
      ball.color = "#ffd166";
      world.after(0.3, cool, { ball });
    }
  },
  { key: "f", label: "Kick", charge: "power" },
);

Goal.on("contact", (_goal, other) => {
  if (!Ball.is(other)) return;
  state.goals += 1;
  world.show("score", state.goals);
  world.emit(scored, { goals: state.goals });
  putBack(other);
});

function putBack(ball: world.Entity) {
  ball.position = PLACE_OF_BALL;
  ball.velocity = vector.zero;
}

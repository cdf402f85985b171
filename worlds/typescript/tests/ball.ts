import * as test from "@nowcast/test";
import * as world from "@nowcast/world";
import { state } from "../world";

function theBall() {
  const ball = world.tagged("ball")[0];
  if (ball === undefined) throw new Error("there is no ball");
  return ball;
}

test.case("a ball in the goal counts once, and comes back", () => {
  test.join("Ada");
  test.wait(1);
  const ball = theBall();
  ball.position = vector.create(0, 1, -12);
  test.wait(0.2);
  test.equal(state.goals, 1);
  test.equal(test.screen("score"), 1);
  test.equal(
    test.events("goal").map((event) => event.payload.goals),
    [1],
  );
  test.near(ball.position.z, -3, 0.1);
});

test.case("a kick that is near enough moves the ball", () => {
  const ada = test.join("Ada");
  test.wait(1);
  const ball = theBall();
  test.act(ada, "kick");
  test.near(vector.magnitude(ball.velocity), 0, 0.1);
  ada.avatar.position = vector.create(0, 1, -2);
  test.act(ada, "kick", { power: 1 });
  test.wait_until(() => ball.position.z < -4);
});

test.case("people who fall off the edge come back", () => {
  const ada = test.join("Ada");
  ada.avatar.position = vector.create(0, 1, 21);
  test.wait_until(() => ada.avatar.position.y < -5);
  test.wait(3);
  test.near(ada.avatar.position.y, 0.9);
});

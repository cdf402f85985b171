import { Sun, startLoop, WorldView } from "@nowcast/three";
import { joinWorld } from "nowcast/world";
import { Color, Group, PerspectiveCamera, Scene, WebGLRenderer } from "three";

const room = new URLSearchParams(location.search).get("room") ?? "playground";
const world = joinWorld(`${location.origin}/r/${room}`, { name: "Ada" });
const labels = document.querySelector<HTMLElement>("#labels")!;
const view = new WorldView(world, { labels });

const renderer = new WebGLRenderer({ antialias: true });
renderer.setSize(innerWidth, innerHeight);
renderer.shadowMap.enabled = true;
renderer.xr.enabled = true;
document.body.prepend(renderer.domElement);

const camera = new PerspectiveCamera(60, innerWidth / innerHeight, 0.1, 500);
camera.position.set(0, 2.5, 6);
const rig = new Group();
rig.add(camera);
const sun = new Sun();
const scene = new Scene();
scene.background = new Color("#bcd7f0");
scene.add(view.group, rig, sun.group);

const keys = new Set<string>();
addEventListener("keydown", ({ code }) => keys.add(code));
addEventListener("keyup", ({ code }) => keys.delete(code));
const between = (less: string, more: string) => Number(keys.has(more)) - Number(keys.has(less));

let yaw = 0;
startLoop(renderer, ({ nowMs, seconds }) => {
  yaw += between("KeyD", "KeyA") * 2 * seconds;
  const [run, jump] = [keys.has("ShiftLeft"), keys.has("Space")];
  world.input({ forward: between("KeyS", "KeyW"), right: 0, yaw, run, jump });
  world.frame(nowMs);
  if (world.avatarId !== undefined) world.pose(world.avatarId, rig);
  view.update(nowMs, seconds, camera);
  sun.aim(camera, rig.position.x, rig.position.y, rig.position.z);
  renderer.render(scene, camera);
});

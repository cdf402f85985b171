import { WorldControls, WorldHud } from "@nowcast/page";
import { Sun, startLoop, WorldView } from "@nowcast/three";
import { joinWorld } from "nowcast/world";
import { Color, PerspectiveCamera, Scene, WebGLRenderer } from "three";

const room = new URLSearchParams(location.search).get("room") ?? "playground";
const world = joinWorld(`${location.origin}/r/${room}`, { name: "Ada" });
const view = new WorldView(world, { labels: document.querySelector<HTMLElement>("#labels")! });

const renderer = new WebGLRenderer({ antialias: true });
renderer.shadowMap.enabled = true;
const canvas = renderer.domElement;
document.body.prepend(canvas);

const camera = new PerspectiveCamera(60, 1, 0.1, 500);
const sun = new Sun();
const scene = new Scene();
scene.background = new Color("#bcd7f0");
scene.add(view.group, sun.group);

const hud = new WorldHud(document.body, world);
const controls = new WorldControls({ canvas, view, camera, hud });
world.on("event:goal", () => hud.say("Goal!"));

const resize = () => {
  renderer.setSize(innerWidth, innerHeight);
  camera.aspect = innerWidth / innerHeight;
  camera.updateProjectionMatrix();
};
addEventListener("resize", resize);
resize();

startLoop(renderer, ({ nowMs, seconds }) => {
  controls.update(nowMs, seconds); // keys and buttons → the local avatar → all entities → the camera
  view.writeLabels(nowMs, camera);
  const { x, y, z } = controls.focus;
  sun.aim(camera, x, y, z);
  renderer.render(scene, camera);
});

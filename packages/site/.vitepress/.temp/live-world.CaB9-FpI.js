import { e as element } from "./dom.DpkMfZBc.js";
const ROOM = "docs";
function mountLiveWorld(root) {
  const abort = new AbortController();
  void firstWorld(abort.signal).then((world) => {
    if (world !== void 0) show(root, world);
  });
  return () => abort.abort();
}
async function firstWorld(signal) {
  return void 0;
}
function show(root, world) {
  const address = `/r/${ROOM}`;
  const second = element("a", { href: address, target: "_blank", rel: "noopener" }, "a second tab");
  root.replaceChildren(
    element("iframe", {
      class: "live-world",
      src: address,
      title: `The world ${world}, live`,
      allow: "fullscreen; gamepad; xr-spatial-tracking"
    }),
    element(
      "p",
      { class: "live-world-text" },
      `This is the world ${world}, live from the server of this page. Open the same room in `,
      second,
      ", and both see each other."
    )
  );
}
export {
  mountLiveWorld
};

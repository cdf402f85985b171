// Runs before the page's own script has arrived.
(() => {
  const { search } = location;
  const isEntering = /[?&](enter=1(&|$)|at=)/.test(search);
  // The start page lists the worlds. A page that enters at once does not.
  if (!isEntering) {
    const href = new URL("api/worlds", document.currentScript.src).href;
    const link = Object.assign(document.createElement("link"), { rel: "preload", as: "fetch", href });
    link.crossOrigin = "anonymous";
    document.head.append(link);
  }
  // Remembers Enter for the start screen.
  addEventListener("keydown", ({ key, isComposing }) => {
    if (key === "Enter" && !isComposing) document.documentElement.dataset.entered = "";
  });
})();

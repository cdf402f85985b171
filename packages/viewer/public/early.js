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
  // Remembers Enter for the start screen. An Enter that presses a button or a link does something else.
  addEventListener("keydown", ({ key, isComposing, target }) => {
    if (key === "Enter" && !isComposing && !target.closest("button, a, dialog"))
      document.documentElement.dataset.entered = "";
  });
})();

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"worlds/","description":"","frontmatter":{},"headers":[],"relativePath":"source/worlds.md","filePath":"source/worlds.md"}');
const _sfc_main = { name: "source/worlds.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="worlds" tabindex="-1">worlds/ <a class="header-anchor" href="#worlds" aria-label="Permalink to &quot;worlds/&quot;">​</a></h1><p>This folder of the repository has:</p><ul><li><a href="/source/worlds/-luaurc.html">.luaurc</a></li><li><a href="/source/worlds/-nowcast/world-luau.html">.nowcast/</a></li><li><a href="/source/worlds/asteroids/world-luau.html">asteroids/</a></li><li><a href="/source/worlds/builders/world-luau.html">builders/</a></li><li><a href="/source/worlds/capture-the-flag/world-luau.html">capture-the-flag/</a></li><li><a href="/source/worlds/football/world-luau.html">football/</a></li><li><a href="/source/worlds/gallery/world-luau.html">gallery/</a></li><li><a href="/source/worlds/minimal/world-luau.html">minimal/</a></li><li><a href="/source/worlds/obstacle-race/world-luau.html">obstacle-race/</a></li><li><a href="/source/worlds/party/world-luau.html">party/</a></li><li><a href="/source/worlds/playground/world-luau.html">playground/</a></li><li><a href="/source/worlds/robots/world-luau.html">robots/</a></li><li><a href="/source/worlds/shop/world-luau.html">shop/</a></li><li><a href="/source/worlds/tower-defence/world-luau.html">tower-defence/</a></li><li><a href="/source/worlds/typescript/world-luau.html">typescript/</a></li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/worlds.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const worlds = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  worlds as default
};

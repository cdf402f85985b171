import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"crates/script/src/library/","description":"","frontmatter":{},"headers":[],"relativePath":"source/crates/script/src/library.md","filePath":"source/crates/script/src/library.md"}');
const _sfc_main = { name: "source/crates/script/src/library.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="cratesscriptsrclibrary" tabindex="-1">crates/script/src/library/ <a class="header-anchor" href="#cratesscriptsrclibrary" aria-label="Permalink to &quot;crates/script/src/library/&quot;">​</a></h1><p>This folder of the repository has:</p><ul><li><a href="/source/crates/script/src/library/dialogue-luau.html">dialogue.luau</a></li><li><a href="/source/crates/script/src/library/headset-luau.html">headset.luau</a></li><li><a href="/source/crates/script/src/library/inventory-luau.html">inventory.luau</a></li><li><a href="/source/crates/script/src/library/leaderboard-luau.html">leaderboard.luau</a></li><li><a href="/source/crates/script/src/library/npc-luau.html">npc.luau</a></li><li><a href="/source/crates/script/src/library/rotation-luau.html">rotation.luau</a></li><li><a href="/source/crates/script/src/library/rounds-luau.html">rounds.luau</a></li><li><a href="/source/crates/script/src/library/teams-luau.html">teams.luau</a></li><li><a href="/source/crates/script/src/library/vehicles-luau.html">vehicles.luau</a></li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/crates/script/src/library.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const library = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  library as default
};

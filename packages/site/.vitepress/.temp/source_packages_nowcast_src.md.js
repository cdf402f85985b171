import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"packages/nowcast/src/","description":"","frontmatter":{},"headers":[],"relativePath":"source/packages/nowcast/src.md","filePath":"source/packages/nowcast/src.md"}');
const _sfc_main = { name: "source/packages/nowcast/src.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="packagesnowcastsrc" tabindex="-1">packages/nowcast/src/ <a class="header-anchor" href="#packagesnowcastsrc" aria-label="Permalink to &quot;packages/nowcast/src/&quot;">​</a></h1><p>This folder of the repository has:</p><ul><li><code>carrier/</code></li><li><code>channel/</code></li><li><a href="/source/packages/nowcast/src/codec/index-ts.html">codec/</a></li><li><code>connect/</code></li><li><code>delta/</code></li><li><code>errors/</code></li><li><code>events/</code></li><li><code>identity/</code></li><li><a href="/source/packages/nowcast/src/impair/index-ts.html">impair/</a></li><li><a href="/source/packages/nowcast/src/index-ts.html">index.ts</a></li><li><a href="/source/packages/nowcast/src/node/index-ts.html">node/</a></li><li><code>queue/</code></li><li><a href="/source/packages/nowcast/src/save/index-ts.html">save/</a></li><li><a href="/source/packages/nowcast/src/session/index-ts.html">session/</a></li><li><code>websocket/</code></li><li><a href="/source/packages/nowcast/src/world/index-ts.html">world/</a></li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/packages/nowcast/src.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const src = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  src as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"worlds/.luaurc","description":"","frontmatter":{},"headers":[],"relativePath":"source/worlds/-luaurc.md","filePath":"source/worlds/-luaurc.md"}');
const _sfc_main = { name: "source/worlds/-luaurc.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="worldsluaurc" tabindex="-1">worlds/.luaurc <a class="header-anchor" href="#worldsluaurc" aria-label="Permalink to &quot;worlds/.luaurc&quot;">​</a></h1><div class="language-text vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">text</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span>{</span></span>
<span class="line"><span>	&quot;aliases&quot;: { &quot;nowcast&quot;: &quot;.nowcast&quot; }</span></span>
<span class="line"><span>}</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/worlds/-luaurc.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const Luaurc = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  Luaurc as default
};

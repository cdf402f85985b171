import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"deploy/cluster/routes.conf","description":"","frontmatter":{},"headers":[],"relativePath":"source/deploy/cluster/routes-conf.md","filePath":"source/deploy/cluster/routes-conf.md"}');
const _sfc_main = { name: "source/deploy/cluster/routes-conf.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="deployclusterroutesconf" tabindex="-1">deploy/cluster/routes.conf <a class="header-anchor" href="#deployclusterroutesconf" aria-label="Permalink to &quot;deploy/cluster/routes.conf&quot;">​</a></h1><div class="language-text vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">text</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span># The three nats-servers. The password is the one of nats.conf.</span></span>
<span class="line"><span>routes: [</span></span>
<span class="line"><span>  nats-route://nowcast:change-me@nats-1:6222,</span></span>
<span class="line"><span>  nats-route://nowcast:change-me@nats-2:6222,</span></span>
<span class="line"><span>  nats-route://nowcast:change-me@nats-3:6222</span></span>
<span class="line"><span>]</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/deploy/cluster/routes-conf.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const routesConf = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  routesConf as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"deploy/cluster/","description":"","frontmatter":{},"headers":[],"relativePath":"source/deploy/cluster.md","filePath":"source/deploy/cluster.md"}');
const _sfc_main = { name: "source/deploy/cluster.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="deploycluster" tabindex="-1">deploy/cluster/ <a class="header-anchor" href="#deploycluster" aria-label="Permalink to &quot;deploy/cluster/&quot;">​</a></h1><p>This folder of the repository has:</p><ul><li><a href="/source/deploy/cluster/compose-yaml.html">compose.yaml</a></li><li><a href="/source/deploy/cluster/nats-conf.html">nats.conf</a></li><li><a href="/source/deploy/cluster/routes-conf.html">routes.conf</a></li><li><code>systemd/</code></li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/deploy/cluster.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const cluster = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  cluster as default
};

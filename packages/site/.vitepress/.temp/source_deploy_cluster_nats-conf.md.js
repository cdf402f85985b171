import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"deploy/cluster/nats.conf","description":"","frontmatter":{},"headers":[],"relativePath":"source/deploy/cluster/nats-conf.md","filePath":"source/deploy/cluster/nats-conf.md"}');
const _sfc_main = { name: "source/deploy/cluster/nats-conf.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="deployclusternatsconf" tabindex="-1">deploy/cluster/nats.conf <a class="header-anchor" href="#deployclusternatsconf" aria-label="Permalink to &quot;deploy/cluster/nats.conf&quot;">​</a></h1><div class="language-text vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">text</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span># The configuration of each nats-server. Its name, its folder and the password come from the environment.</span></span>
<span class="line"><span>server_name: $NATS_NAME</span></span>
<span class="line"><span>listen: 0.0.0.0:4222</span></span>
<span class="line"><span>http: 127.0.0.1:8222</span></span>
<span class="line"><span>max_payload: 8MB</span></span>
<span class="line"><span></span></span>
<span class="line"><span>jetstream {</span></span>
<span class="line"><span>  store_dir: $NATS_FOLDER</span></span>
<span class="line"><span>  # Without this, an acknowledged record can be lost when machines lose their power.</span></span>
<span class="line"><span>  sync_interval: always</span></span>
<span class="line"><span>  max_memory_store: 256MB</span></span>
<span class="line"><span>  max_file_store: 64GB</span></span>
<span class="line"><span>}</span></span>
<span class="line"><span></span></span>
<span class="line"><span>authorization { user: nowcast, password: $NATS_PASSWORD }</span></span>
<span class="line"><span></span></span>
<span class="line"><span>cluster {</span></span>
<span class="line"><span>  name: nowcast</span></span>
<span class="line"><span>  listen: 0.0.0.0:6222</span></span>
<span class="line"><span>  authorization { user: nowcast, password: $NATS_PASSWORD }</span></span>
<span class="line"><span>  include ./routes.conf</span></span>
<span class="line"><span>}</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/deploy/cluster/nats-conf.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const natsConf = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  natsConf as default
};

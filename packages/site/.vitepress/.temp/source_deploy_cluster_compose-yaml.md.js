import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"deploy/cluster/compose.yaml","description":"","frontmatter":{},"headers":[],"relativePath":"source/deploy/cluster/compose-yaml.md","filePath":"source/deploy/cluster/compose-yaml.md"}');
const _sfc_main = { name: "source/deploy/cluster/compose-yaml.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="deployclustercomposeyaml" tabindex="-1">deploy/cluster/compose.yaml <a class="header-anchor" href="#deployclustercomposeyaml" aria-label="Permalink to &quot;deploy/cluster/compose.yaml&quot;">​</a></h1><div class="language-text vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">text</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span># Three nats-servers and three servers of Nowcast on one machine, to try a cluster. On several machines, run one pair on each</span></span>
<span class="line"><span># (systemd/). The password stands in routes.conf, too.</span></span>
<span class="line"><span>#</span></span>
<span class="line"><span>#   docker compose up</span></span>
<span class="line"><span>#</span></span>
<span class="line"><span># Then open http://localhost:7777/r/playground and http://localhost:7778/r/playground: both pages show one room.</span></span>
<span class="line"><span></span></span>
<span class="line"><span>x-nats: &amp;nats</span></span>
<span class="line"><span>  image: nats:2.15.2-alpine</span></span>
<span class="line"><span>  command: [&quot;--config&quot;, &quot;/etc/nats/nats.conf&quot;]</span></span>
<span class="line"><span>  restart: unless-stopped</span></span>
<span class="line"><span></span></span>
<span class="line"><span>x-nowcast: &amp;nowcast</span></span>
<span class="line"><span>  # \`cargo xtask dist\` makes this image: docker load -i target/dist/out/nowcast-0.1.0-image-amd64.oci.tar</span></span>
<span class="line"><span>  image: nowcast:0.1.0</span></span>
<span class="line"><span>  restart: unless-stopped</span></span>
<span class="line"><span>  depends_on: [nats-1, nats-2, nats-3]</span></span>
<span class="line"><span>  # The time in which a server that stops hands its rooms over.</span></span>
<span class="line"><span>  stop_grace_period: 30s</span></span>
<span class="line"><span></span></span>
<span class="line"><span>services:</span></span>
<span class="line"><span>  nats-1:</span></span>
<span class="line"><span>    &lt;&lt;: *nats</span></span>
<span class="line"><span>    environment: { NATS_NAME: nats-1, NATS_FOLDER: /data, NATS_PASSWORD: change-me }</span></span>
<span class="line"><span>    volumes: [&quot;./nats.conf:/etc/nats/nats.conf:ro&quot;, &quot;./routes.conf:/etc/nats/routes.conf:ro&quot;, &quot;nats-1:/data&quot;]</span></span>
<span class="line"><span>  nats-2:</span></span>
<span class="line"><span>    &lt;&lt;: *nats</span></span>
<span class="line"><span>    environment: { NATS_NAME: nats-2, NATS_FOLDER: /data, NATS_PASSWORD: change-me }</span></span>
<span class="line"><span>    volumes: [&quot;./nats.conf:/etc/nats/nats.conf:ro&quot;, &quot;./routes.conf:/etc/nats/routes.conf:ro&quot;, &quot;nats-2:/data&quot;]</span></span>
<span class="line"><span>  nats-3:</span></span>
<span class="line"><span>    &lt;&lt;: *nats</span></span>
<span class="line"><span>    environment: { NATS_NAME: nats-3, NATS_FOLDER: /data, NATS_PASSWORD: change-me }</span></span>
<span class="line"><span>    volumes: [&quot;./nats.conf:/etc/nats/nats.conf:ro&quot;, &quot;./routes.conf:/etc/nats/routes.conf:ro&quot;, &quot;nats-3:/data&quot;]</span></span>
<span class="line"><span></span></span>
<span class="line"><span>  north:</span></span>
<span class="line"><span>    &lt;&lt;: *nowcast</span></span>
<span class="line"><span>    command: [&quot;serve&quot;, &quot;--host&quot;, &quot;0.0.0.0&quot;, &quot;--anonymous&quot;, &quot;--insecure&quot;, &quot;--port&quot;, &quot;7777&quot;, &quot;--cluster-server&quot;, &quot;north&quot;,</span></span>
<span class="line"><span>      &quot;--cluster-address&quot;, &quot;http://localhost:7777&quot;, &quot;--cluster&quot;, &quot;nats://nowcast:change-me@nats-1,nats://nats-2,nats://nats-3&quot;]</span></span>
<span class="line"><span>    ports: [&quot;7777:7777/tcp&quot;, &quot;7777:7777/udp&quot;]</span></span>
<span class="line"><span>  south:</span></span>
<span class="line"><span>    &lt;&lt;: *nowcast</span></span>
<span class="line"><span>    command: [&quot;serve&quot;, &quot;--host&quot;, &quot;0.0.0.0&quot;, &quot;--anonymous&quot;, &quot;--insecure&quot;, &quot;--port&quot;, &quot;7778&quot;, &quot;--cluster-server&quot;, &quot;south&quot;,</span></span>
<span class="line"><span>      &quot;--cluster-address&quot;, &quot;http://localhost:7778&quot;, &quot;--cluster&quot;, &quot;nats://nowcast:change-me@nats-1,nats://nats-2,nats://nats-3&quot;]</span></span>
<span class="line"><span>    ports: [&quot;7778:7778/tcp&quot;, &quot;7778:7778/udp&quot;]</span></span>
<span class="line"><span>  west:</span></span>
<span class="line"><span>    &lt;&lt;: *nowcast</span></span>
<span class="line"><span>    command: [&quot;serve&quot;, &quot;--host&quot;, &quot;0.0.0.0&quot;, &quot;--anonymous&quot;, &quot;--insecure&quot;, &quot;--port&quot;, &quot;7779&quot;, &quot;--cluster-server&quot;, &quot;west&quot;,</span></span>
<span class="line"><span>      &quot;--cluster-address&quot;, &quot;http://localhost:7779&quot;, &quot;--cluster&quot;, &quot;nats://nowcast:change-me@nats-1,nats://nats-2,nats://nats-3&quot;]</span></span>
<span class="line"><span>    ports: [&quot;7779:7779/tcp&quot;, &quot;7779:7779/udp&quot;]</span></span>
<span class="line"><span></span></span>
<span class="line"><span>volumes:</span></span>
<span class="line"><span>  nats-1:</span></span>
<span class="line"><span>  nats-2:</span></span>
<span class="line"><span>  nats-3:</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/deploy/cluster/compose-yaml.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const composeYaml = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  composeYaml as default
};

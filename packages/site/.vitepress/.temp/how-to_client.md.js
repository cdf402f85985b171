import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"The smallest client of a session","description":"","frontmatter":{},"headers":[],"relativePath":"how-to/client.md","filePath":"how-to/client.md"}');
const _sfc_main = { name: "how-to/client.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="the-smallest-client-of-a-session" tabindex="-1">The smallest client of a session <a class="header-anchor" href="#the-smallest-client-of-a-session" aria-label="Permalink to &quot;The smallest client of a session&quot;">​</a></h1><p><code>client.py</code> is <a href="/spec/minimal.html"><code>spec/MINIMAL.md</code></a> in Python, with its standard library alone: it joins a world over WebSocket, walks, receives its own movement, loses its connection, acts in the meantime, resumes the session, walks, and leaves.</p><div class="language-bash vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">bash</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;">cargo</span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;"> xtask</span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;"> serve</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;"> &amp;</span></span>
<span class="line"><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;">python3</span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;"> examples/minimal/client.py</span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;"> localhost:7777</span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;"> playground</span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;"> grab</span></span></code></pre></div><table tabindex="0"><thead><tr><th>file</th><th>what the file is</th></tr></thead><tbody><tr><td><code>client.py</code></td><td>WebSocket, session, and the messages of a world&#39;s client</td></tr><tr><td><code>movement.py</code></td><td>decodes movement</td></tr><tr><td><code>reader.py</code></td><td>numbers in packets</td></tr></tbody></table><p><code>crates/cli/tests/program/minimal.rs</code> runs <code>client.py</code> against the real program. Without a session, <a href="/spec/plain.html#8-example">a client of the plain protocol</a> has 30 lines.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("how-to/client.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const client = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  client as default
};

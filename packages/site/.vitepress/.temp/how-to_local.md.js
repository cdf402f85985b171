import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Connect local programs","description":"","frontmatter":{},"headers":[],"relativePath":"how-to/local.md","filePath":"how-to/local.md"}');
const _sfc_main = { name: "how-to/local.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="connect-local-programs" tabindex="-1">Connect local programs <a class="header-anchor" href="#connect-local-programs" aria-label="Permalink to &quot;Connect local programs&quot;">​</a></h1><p>One program produces faster than another can consume, and the consumer must never fall behind (Kessler and Hodges 1996). In a checkout:</p><div class="language-console vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">console</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">$ cargo run --release -p nowcast-examples --bin tracker     </span><span style="--shiki-light:#6A737D;--shiki-dark:#6A737D;"># in one terminal</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">$ cargo run --release -p nowcast-examples --bin renderer    </span><span style="--shiki-light:#6A737D;--shiki-dark:#6A737D;"># in another</span></span></code></pre></div><ul><li><a href="/source/examples/local/src/bin/tracker-rs.html"><code>tracker</code></a> puts a pose <strong>a thousand times a second</strong>, and presses a button every 0.7 s.</li><li><a href="/source/examples/local/src/bin/renderer-rs.html"><code>renderer</code></a> reads <strong>60 times a second</strong>. Each frame gets only the newest pose, at most about a millisecond old.</li><li>Each <strong>button event</strong> arrives once, directly after the pose at which the button was pressed.</li><li>When the renderer connects, it sends a <strong>command</strong> and waits for the reply.</li></ul><p>Kill either program with <code>kill -9</code> and start it again, or stop the renderer with Ctrl+Z for a minute and continue with <code>fg</code>. <code>nowcast names</code> lists the advertised names.</p><h2 id="into-a-world" tabindex="-1">Into a world <a class="header-anchor" href="#into-a-world" aria-label="Permalink to &quot;Into a world&quot;">​</a></h2><div class="language-console vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">console</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">$ cargo xtask serve                                         </span><span style="--shiki-light:#6A737D;--shiki-dark:#6A737D;"># a server with all sample worlds</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">$ cargo run --release -p nowcast-examples --bin tracker     </span><span style="--shiki-light:#6A737D;--shiki-dark:#6A737D;"># in a second terminal</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">$ cargo run --release -p nowcast-examples --bin bridge      </span><span style="--shiki-light:#6A737D;--shiki-dark:#6A737D;"># in a third</span></span></code></pre></div><p><a href="/source/examples/local/src/bin/bridge-rs.html"><code>bridge</code></a> reads the newest pose thirty times a second, joins the world of the robots as a program, and moves an arm&#39;s target: open <code>http://localhost:7777/r/robots</code>, and the arm follows the tracker. <a href="/how-to/rust.html">Use Nowcast from Rust</a> shows your own project.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("how-to/local.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const local = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  local as default
};

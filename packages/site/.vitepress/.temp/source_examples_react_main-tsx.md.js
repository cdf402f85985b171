import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"examples/react/main.tsx","description":"","frontmatter":{},"headers":[],"relativePath":"source/examples/react/main-tsx.md","filePath":"source/examples/react/main-tsx.md"}');
const _sfc_main = { name: "source/examples/react/main-tsx.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="examplesreactmaintsx" tabindex="-1">examples/react/main.tsx <a class="header-anchor" href="#examplesreactmaintsx" aria-label="Permalink to &quot;examples/react/main.tsx&quot;">​</a></h1><div class="language-text vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">text</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span>import { NowcastWorldElement } from &quot;@nowcast/page/element&quot;;</span></span>
<span class="line"><span>import { usePlayers, useScreen, WorldProvider } from &quot;@nowcast/react&quot;;</span></span>
<span class="line"><span>import type { World } from &quot;nowcast/world&quot;;</span></span>
<span class="line"><span>import { StrictMode } from &quot;react&quot;;</span></span>
<span class="line"><span>import { createRoot } from &quot;react-dom/client&quot;;</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function Board() {</span></span>
<span class="line"><span>  const score = useScreen&lt;{ red: number; blue: number }&gt;(&quot;score&quot;);</span></span>
<span class="line"><span>  const names = usePlayers().map(({ name }) =&gt; name);</span></span>
<span class="line"><span>  return &lt;p className=&quot;board&quot;&gt;{\`Red \${score?.red ?? 0}, blue \${score?.blue ?? 0} · \${names.join(&quot;, &quot;)}\`}&lt;/p&gt;;</span></span>
<span class="line"><span>}</span></span>
<span class="line"><span></span></span>
<span class="line"><span>/** The element joins and draws the world; React shows texts over it. */</span></span>
<span class="line"><span>function show(world: World): void {</span></span>
<span class="line"><span>  createRoot(document.querySelector(&quot;main&quot;)!).render(</span></span>
<span class="line"><span>    &lt;StrictMode&gt;</span></span>
<span class="line"><span>      &lt;WorldProvider world={world}&gt;</span></span>
<span class="line"><span>        &lt;Board /&gt;</span></span>
<span class="line"><span>      &lt;/WorldProvider&gt;</span></span>
<span class="line"><span>    &lt;/StrictMode&gt;,</span></span>
<span class="line"><span>  );</span></span>
<span class="line"><span>}</span></span>
<span class="line"><span></span></span>
<span class="line"><span>const element = new NowcastWorldElement();</span></span>
<span class="line"><span>element.setAttribute(&quot;src&quot;, \`/r/\${new URLSearchParams(location.search).get(&quot;room&quot;) ?? &quot;football&quot;}\`);</span></span>
<span class="line"><span>element.setAttribute(&quot;name&quot;, &quot;Ada&quot;);</span></span>
<span class="line"><span>element.setAttribute(&quot;hud&quot;, &quot;off&quot;);</span></span>
<span class="line"><span>document.body.prepend(element);</span></span>
<span class="line"><span>if (element.page) show(element.page.world);</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/examples/react/main-tsx.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const mainTsx = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  mainTsx as default
};

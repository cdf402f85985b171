import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Encodings","description":"","frontmatter":{},"headers":[],"relativePath":"measurements/codec.md","filePath":"measurements/codec.md"}');
const _sfc_main = { name: "measurements/codec.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="encodings" tabindex="-1">Encodings <a class="header-anchor" href="#encodings" aria-label="Permalink to &quot;Encodings&quot;">​</a></h1><p><code>cargo xtask lab codec --node --browser</code>, one complete run of a release build on two quiet cores; medians of 15 samples in Rust and 30 in JavaScript. The row for Node&#39;s movement is from a separate run (<code>--only movement</code>).</p><table tabindex="0"><thead><tr><th>what</th><th>ours</th><th>others, in the same run</th></tr></thead><tbody><tr><td>three messages, bytes</td><td>13 / 70 / 220</td><td>JSON 33 / 117 / 329, protobuf 16 / 75 / 229, MessagePack 24 / 98 / 277</td></tr><tr><td>the same in Node 20, speed against JSON</td><td>4.2 / 3.0 / 4.2</td><td>protobufjs 1.3 / 1.1 / 1.1, msgpackr&#39;s records 1.4 / 1.1 / 1.4</td></tr><tr><td>the same in Chromium 156</td><td>3.5 / 1.35 / 1.10</td><td>protobufjs 0.95 / 0.6 / 0.4, msgpackr&#39;s records 1.0 / 0.6 / 0.4</td></tr><tr><td>32 big messages in one batch, Chromium, against JSON</td><td>1.6</td><td>protobufjs 0.3, msgpackr&#39;s records 0.3</td></tr><tr><td>movement of 1,000 entities, exact, bytes</td><td>27,514</td><td>one buffer by hand 31,004, bitcode 29,015, wincode 31,008</td></tr><tr><td>the same, time there and back, Chromium</td><td>25 µs</td><td>by hand 21 µs</td></tr><tr><td>the same, Node</td><td>42 µs</td><td>by hand 42 µs</td></tr><tr><td>the same, Rust</td><td>5.6 µs</td><td>wincode 3.2, by hand 4.5, bitcode 6.3</td></tr><tr><td>game save, raw / LZ4 / zstd 3, kB</td><td>221 / 167 / 147</td><td>bitcode 722 / 276 / 199, named MessagePack 1,747 / 461 / 316, XML 2,569 / 598 / 368</td></tr><tr><td>its cold start with LZ4</td><td>6.2 ms</td><td>bitcode 5.3, wincode 6.7, named MessagePack 12.8, JSON 18, XML 55</td></tr><tr><td>moves in millimetres and 16-bit angles, bits per entity and frame</td><td>26.3</td><td></td></tr></tbody></table><p>Two goals are missed. Movement in Chromium takes 1.2 to 1.4 times as long as an unchecked loop over one buffer. A cold start takes a sixth longer than bitcode&#39;s. Positional codecs cannot read values that another version of a type wrote. This codec can.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("measurements/codec.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const codec = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  codec as default
};

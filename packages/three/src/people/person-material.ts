import { MeshLambertMaterial, type Scene } from "three";
import { darknessOf } from "../scene/lamp.js";

/** The surface of people. At dusk and at night it has a soft fill light, so that backs can be told from the ground. */
export function createPersonMaterial(): MeshLambertMaterial {
  const darkness = { value: 0 };
  const material = new MeshLambertMaterial({ vertexColors: true });
  material.onBeforeRender = (_renderer, scene) => {
    darkness.value = darknessOf((scene as Scene).background);
  };
  material.onBeforeCompile = (shader) => {
    shader.uniforms["darkness"] = darkness;
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nuniform float darkness;")
      .replace(
        "#include <emissivemap_fragment>",
        "#include <emissivemap_fragment>\ntotalEmissiveRadiance += diffuseColor.rgb * vec3(0.25, 0.24, 0.4) * darkness;",
      );
  };
  return material;
}

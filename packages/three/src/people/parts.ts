import type { Object3D } from "three";
import {
  type BufferGeometry,
  CapsuleGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  Float32BufferAttribute,
  LatheGeometry,
  SphereGeometry,
  TorusGeometry,
  Vector2,
} from "three";
import { mergeGeometries } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { Skeleton } from "./skeleton.js";
import { BODY } from "./skeleton.js";

/** The name of the avatar's colour in which a part is drawn. */
export type Cloth = "shirt" | "trousers" | "skin" | "hair" | "pack" | "face";

/** A shape that is drawn at each of its joints. One draw call draws it for all avatars. */
export interface Part {
  readonly cloth: Cloth;
  readonly geometry: BufferGeometry;
  readonly joints: readonly ((skeleton: Skeleton) => Object3D)[];
  /** Only people with one of these hats, as numbers in `OUTFIT_CHOICES.hat` from 1, or 0, have the part. */
  readonly hats?: readonly number[];
}

/**
 * A body of rounded shapes. Vertex colours are factors of the colour of the clothes. They draw cuffs, soles
 * and eyes.
 */
export function createParts(): Part[] {
  return [
    { cloth: "trousers", geometry: pelvis(), joints: [(s) => s.pelvis] },
    { cloth: "shirt", geometry: torso(), joints: [(s) => s.torso] },
    { cloth: "pack", geometry: backpack(), joints: [(s) => s.torso] },
    { cloth: "skin", geometry: head(), joints: [(s) => s.head] },
    { cloth: "hair", geometry: hair(), joints: [(s) => s.head] },
    { cloth: "hair", geometry: tuft(), joints: [(s) => s.head], hats: [0, 1] },
    { cloth: "face", geometry: eyes(), joints: [(s) => s.eyes] },
    { cloth: "face", geometry: mouth(), joints: [(s) => s.mouth] },
    { cloth: "pack", geometry: cap(), joints: [(s) => s.head], hats: [2] },
    { cloth: "pack", geometry: beanie(), joints: [(s) => s.head], hats: [3] },
    { cloth: "face", geometry: crown(), joints: [(s) => s.head], hats: [4] },
    {
      cloth: "shirt",
      geometry: limb(0.066, 0.054, BODY.upperArm),
      joints: [(s) => s.upperArmLeft, (s) => s.upperArmRight],
    },
    { cloth: "skin", geometry: forearm(), joints: [(s) => s.forearmLeft, (s) => s.forearmRight] },
    {
      cloth: "trousers",
      geometry: limb(0.1, 0.078, BODY.thigh),
      joints: [(s) => s.thighLeft, (s) => s.thighRight],
    },
    {
      cloth: "trousers",
      geometry: limb(0.079, 0.062, BODY.shin),
      joints: [(s) => s.shinLeft, (s) => s.shinRight],
    },
    { cloth: "pack", geometry: foot(), joints: [(s) => s.footLeft, (s) => s.footRight] },
  ];
}

const WHITE = new Color(1, 1, 1);

function tinted(geometry: BufferGeometry, tint: Color): BufferGeometry {
  const count = geometry.getAttribute("position").count;
  const colors = new Float32Array(count * 3);
  for (let i = 0; i < count; i++) tint.toArray(colors, i * 3);
  geometry.setAttribute("color", new Float32BufferAttribute(colors, 3));
  geometry.deleteAttribute("uv");
  return geometry;
}

function merged(...geometries: BufferGeometry[]): BufferGeometry {
  return mergeGeometries(geometries);
}

/** A limb that hangs from its joint: round at both ends, thinner below. */
function limb(top: number, bottom: number, length: number): BufferGeometry {
  const points: Vector2[] = [];
  for (let i = 0; i <= 3; i++) {
    const a = (i / 3) * (Math.PI / 2);
    points.push(new Vector2(Math.sin(a) * bottom, -length - Math.cos(a) * bottom));
  }
  for (let i = 0; i <= 3; i++) {
    const a = (i / 3) * (Math.PI / 2);
    points.push(new Vector2(Math.cos(a) * top, Math.sin(a) * top));
  }
  return tinted(new LatheGeometry(points, 10), WHITE);
}

function torso(): BufferGeometry {
  const profile: [number, number][] = [
    [0, -0.03],
    [0.135, -0.03],
    [0.158, 0.02],
    [0.165, 0.12],
    [0.184, 0.26],
    [0.19, 0.35],
    [0.172, 0.42],
    [0.125, 0.468],
    [0.07, 0.5],
    [0, 0.505],
  ];
  const body = new LatheGeometry(
    profile.map(([x, y]) => new Vector2(x, y)),
    18,
  );
  body.scale(1.06, 1, 0.72);
  const collar = new CapsuleGeometry(0.062, 0.05, 3, 12).translate(0, 0.51, 0);
  return merged(tinted(body, WHITE), tinted(collar, new Color(0.82, 0.82, 0.82)));
}

function pelvis(): BufferGeometry {
  const shape = new CapsuleGeometry(0.118, 0.1, 5, 14);
  shape.rotateZ(Math.PI / 2).scale(0.98, 1, 0.92);
  return tinted(shape, WHITE);
}

function backpack(): BufferGeometry {
  const bag = new CapsuleGeometry(0.125, 0.14, 5, 14).scale(1, 1, 0.66).translate(0, 0.24, 0.165);
  const pocket = new CapsuleGeometry(0.07, 0.06, 4, 12)
    .rotateZ(Math.PI / 2)
    .scale(1, 0.9, 0.6)
    .translate(0, 0.17, 0.245);
  const strap = (x: number) =>
    new CapsuleGeometry(0.02, 0.2, 3, 8).scale(1.2, 1, 0.8).rotateX(-0.12).translate(x, 0.3, -0.124);
  const dark = new Color(0.72, 0.72, 0.72);
  return merged(
    tinted(bag, WHITE),
    tinted(pocket, dark),
    tinted(strap(-0.1), dark),
    tinted(strap(0.1), dark),
  );
}

function head(): BufferGeometry {
  const skull = new SphereGeometry(0.185, 20, 16).scale(0.94, 1.02, 0.96).translate(0, 0.185, 0);
  const ear = (x: number) => new SphereGeometry(0.04, 8, 8).scale(0.5, 1, 0.8).translate(x, 0.175, 0.005);
  const nose = new SphereGeometry(0.024, 8, 6).scale(0.9, 0.8, 1).translate(0, 0.15, -0.182);
  const blush = new Color(1, 0.9, 0.86);
  return merged(
    tinted(skull, WHITE),
    tinted(ear(-0.176), blush),
    tinted(ear(0.176), blush),
    tinted(nose, blush),
  );
}

/** Eyes about their own middle, so that a flat scale closes them. */
function eyes(): BufferGeometry {
  const eye = (x: number) => new SphereGeometry(0.026, 10, 8).scale(0.9, 1.25, 0.5).translate(x, 0, -0.174);
  const shine = (x: number) => new SphereGeometry(0.008, 6, 5).translate(x + 0.008, 0.014, -0.188);
  const black = new Color(0.06, 0.05, 0.07);
  const white = new Color(1.6, 1.6, 1.6);
  return merged(
    tinted(eye(-0.066), black),
    tinted(eye(0.066), black),
    tinted(shine(-0.066), white),
    tinted(shine(0.066), white),
  );
}

function mouth(): BufferGeometry {
  const lips = new SphereGeometry(0.03, 12, 8).scale(1.1, 0.22, 0.4).translate(0, 0, -0.163);
  return tinted(lips, new Color(0.42, 0.13, 0.13));
}

function cap(): BufferGeometry {
  const dome = new SphereGeometry(0.207, 20, 8, 0, Math.PI * 2, 0, Math.PI * 0.5)
    .scale(1, 0.95, 1.03)
    .rotateX(0.12)
    .translate(0, 0.225, 0.005);
  const peak = new CylinderGeometry(0.15, 0.15, 0.016, 20)
    .scale(0.95, 1, 0.8)
    .rotateX(0.16)
    .translate(0, 0.24, -0.175);
  return merged(tinted(dome, WHITE), tinted(peak, new Color(0.75, 0.75, 0.75)));
}

function beanie(): BufferGeometry {
  const dome = new SphereGeometry(0.212, 20, 10, 0, Math.PI * 2, 0, Math.PI * 0.52)
    .scale(1, 1.12, 1)
    .rotateX(0.16)
    .translate(0, 0.215, 0.008);
  const rim = new TorusGeometry(0.2, 0.026, 8, 24).rotateX(Math.PI / 2 + 0.16).translate(0, 0.225, 0.008);
  const ball = new SphereGeometry(0.055, 10, 8).translate(0, 0.455, 0.045);
  return merged(
    tinted(dome, WHITE),
    tinted(rim, new Color(0.78, 0.78, 0.78)),
    tinted(ball, new Color(1.4, 1.4, 1.4)),
  );
}

function crown(): BufferGeometry {
  const gold = new Color(0.95, 0.68, 0.16);
  const ring = new CylinderGeometry(0.158, 0.15, 0.07, 24, 1, true).translate(0, 0.375, 0);
  const inner = new CylinderGeometry(0.15, 0.142, 0.07, 24, 1, true).scale(-1, 1, 1).translate(0, 0.375, 0);
  const spike = (turn: number) =>
    new ConeGeometry(0.034, 0.09, 6).translate(0, 0.45, -0.152).rotateY((turn * Math.PI) / 3);
  return merged(
    tinted(ring, gold),
    tinted(inner, gold),
    ...[0, 1, 2, 3, 4, 5].map((turn) => tinted(spike(turn), gold)),
  );
}

function hair(): BufferGeometry {
  const cap = new SphereGeometry(0.197, 20, 10, 0, Math.PI * 2, 0, Math.PI * 0.56)
    .scale(0.96, 1.02, 1)
    .rotateX(0.5)
    .translate(0, 0.19, 0.012);
  return tinted(cap, WHITE);
}

/** The hair in front, which no hat has room for. */
function tuft(): BufferGeometry {
  const ball = new SphereGeometry(0.075, 10, 8)
    .scale(1.5, 0.62, 1)
    .rotateZ(0.25)
    .translate(0.03, 0.36, -0.075);
  return tinted(ball, new Color(1.1, 1.1, 1.1));
}

function forearm(): BufferGeometry {
  const arm = limb(0.052, 0.043, BODY.forearm);
  const hand = tinted(
    new SphereGeometry(0.062, 12, 10).scale(0.8, 1.12, 1).translate(0, -BODY.forearm - 0.045, -0.008),
    WHITE,
  );
  const thumb = tinted(
    new CapsuleGeometry(0.02, 0.03, 3, 8).rotateX(0.7).translate(0, -BODY.forearm - 0.03, -0.065),
    WHITE,
  );
  return merged(arm, hand, thumb);
}

function foot(): BufferGeometry {
  const shoe = new CapsuleGeometry(0.068, 0.1, 5, 14).rotateX(Math.PI / 2).scale(0.92, 0.9, 1);
  shoe.translate(0, -0.012, -0.048);
  const sole = new CapsuleGeometry(0.066, 0.11, 4, 14).rotateX(Math.PI / 2).scale(0.95, 0.34, 1);
  sole.translate(0, -0.052, -0.048);
  return merged(tinted(shoe, WHITE), tinted(sole, new Color(2.2, 2.2, 2.2)));
}

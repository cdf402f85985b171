import fc from "fast-check";
import { type Group, type InstancedMesh, Matrix4, Vector3 } from "three";
import { expect, it } from "vitest";
import type { Form } from "../../nowcast/src/world/describe/shape.js";
import { type DrawnKind, describeBody } from "../src/look/body.js";
import { createPose } from "../src/pose.js";
import { Boxes } from "../src/scene/boxes.js";
import { createProp, type Prop } from "../src/scene/prop.js";
import { Shapes } from "../src/scene/shapes.js";
import { Sightline } from "../src/scene/sightline.js";

const FORMS: readonly Form[] = [
  { shape: "sphere", radius: 0.5 },
  { shape: "cone", radius: 1, height: 2 },
  { shape: "box", size: [1, 1, 1] },
];

function prop(id: number, form: Form, opacity = 1): Prop {
  const kind: DrawnKind = { name: "thing", body: { ...form }, walker: undefined, look: { opacity } };
  const body = describeBody({ id, kind, scale: [1, 1, 1], parent: undefined, attributes: {} });
  return createProp(body, form, createPose(id));
}

/** Positions at which a group's instances are drawn, by X. */
function drawn(group: Group): number[] {
  const matrix = new Matrix4();
  const at = new Vector3();
  return group.children
    .flatMap((child) => {
      const mesh = child as InstancedMesh;
      return Array.from({ length: mesh.count }, (_, slot) => {
        mesh.getMatrixAt(slot, matrix);
        return at.setFromMatrixPosition(matrix).x;
      });
    })
    .sort((a, b) => a - b);
}

it("draws each entity once at its position, while entities are added, removed, moved, and drawn in other detail", () => {
  const step = fc.record({
    what: fc.constantFrom("add", "remove", "place", "detail"),
    which: fc.nat(1000),
    form: fc.constantFrom(...FORMS),
    opacity: fc.constantFrom(1, 0.5),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), fc.boolean(), (steps, areBoxes) => {
      const [boxes, shapes] = [new Boxes(1, false, new Sightline()), new Shapes(false, new Sightline())];
      const renderer = areBoxes ? boxes.batch : shapes;
      const props: Prop[] = [];
      let nextId = 1;
      let isRich = false;
      for (const { what, which, form, opacity } of steps) {
        const chosen = props[which % Math.max(1, props.length)];
        if (what === "add") {
          const added = areBoxes ? prop(nextId, FORMS[2]!) : prop(nextId, form, opacity);
          nextId += 1;
          props.push(added);
          renderer.add(added);
        } else if (what === "detail") {
          isRich = !isRich;
          boxes.setDetail(2, isRich);
          shapes.setDetail(isRich);
        } else if (chosen && what === "remove") {
          props.splice(props.indexOf(chosen), 1);
          renderer.remove(chosen);
        } else if (chosen) {
          chosen.position.x += 1000;
          renderer.place(chosen);
        }
      }
      expect(drawn(renderer.group)).toEqual(props.map(({ position }) => position.x).sort((a, b) => a - b));
    }),
    { numRuns: 60 },
  );
});

it("draws entities of one form together, and keeps nothing of removed forms", () => {
  const shapes = new Shapes(false, new Sightline());
  const balls = Array.from({ length: 100 }, (_, id) => prop(id, { shape: "sphere", radius: 0.5 }));
  for (const ball of balls) shapes.add(ball);
  expect(shapes.group.children.length).toBe(1);
  const glass = prop(100, { shape: "sphere", radius: 0.5 }, 0.3);
  shapes.add(glass);
  expect(shapes.group.children.length).toBe(2);
  for (const each of [...balls, glass]) shapes.remove(each);
  expect(shapes.group.children.length).toBe(0);
});

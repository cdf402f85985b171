import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("the example of the guide is the compiled one", () => {
  const read = (name: string): string => readFileSync(fileURLToPath(new URL(name, import.meta.url)), "utf8");
  expect(/```tsx\n(.*?)```/s.exec(read("../../../docs/how-to/react.md"))![1]).toBe(read("./example.tsx"));
});

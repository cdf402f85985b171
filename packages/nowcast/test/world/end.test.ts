/** The codes with which worlds end a connection, in both protocols. */
import { expect, it } from "vitest";
import { worldEnd } from "../../src/world/end.js";

it.each([
  [72, 4014, "replaced"],
  [73, 4015, "banned"],
  [74, 4016, "unauthorised"],
  [75, 4017, "kicked"],
])("codes_%i_and_%i_have_the_same_meaning", (session, plain, code) => {
  const reason = "the reason of the server";
  for (const closeCode of [session, plain]) {
    expect(worldEnd(closeCode, reason)).toMatchObject({ code, closeCode, message: reason });
  }
});

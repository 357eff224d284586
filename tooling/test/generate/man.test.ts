import { expect, it } from "vitest";
import { manPage } from "../../generate/options/man";

it("escapes what roff reads otherwise", () => {
  const spec = { program: "x", alias: "y", further: [], exitStatuses: "0 done", examples: [["a\\b", ".c"]] as const };
  const page = manPage({ ...spec, main: { words: "", doc: "'D -e `f`.", groups: [] } });
  expect(page).toContain("\\fBx a\\eb\\fR\n\\&.c\n");
  expect(page).toContain("x, y \\- \\&'D \\-e f\n");
});

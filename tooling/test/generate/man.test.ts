import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FURTHER_COMMANDS, GENERATE } from "../../../apps/generate/src/options/commands";
import { rowsOf } from "../../../apps/generate/src/options/rows";
import { manPage } from "../../generate/options/man";

const root = join(import.meta.dirname, "../../..");
/** The requests and escapes of man(7) that pages are made of. */
const REQUESTS = ["SH", "SS", "TP", "TH", "PP", "br", '\\"'];

it("has every command, every option and nothing that roff would take for a request", () => {
  const page = readFileSync(join(root, "apps/generate/man/vd-generate.1"), "utf8");
  const text = page.replaceAll(/\\f[BIR]/g, "").replaceAll("\\-", "-");
  for (const { words } of FURTHER_COMMANDS) expect(text).toContain(`vd-generate ${words} [options]`);
  for (const row of [GENERATE, ...FURTHER_COMMANDS].flatMap(rowsOf))
    expect(text, row.name).toContain(`\n${row.form.flags.replace(" [FILE]", "[=FILE]")}`);
  const requests = [...page.matchAll(/^[.'](\S+)/gm)].map(([, name]) => name!);
  expect(new Set(requests)).toEqual(new Set(REQUESTS));
  expect(page.replaceAll(/\\(?:f[BIR]|-|e|&|\(mu|")/g, "")).not.toContain("\\");
});

it("escapes what roff reads otherwise", () => {
  const spec = { program: "x", alias: "y", further: [], exitStatuses: "0 done", examples: [["a\\b", ".c"]] as const };
  const page = manPage({ ...spec, main: { words: "", doc: "'D -e `f`.", groups: [] } });
  expect(page).toContain("\\fBx a\\eb\\fR\n\\&.c\n");
  expect(page).toContain("x, y \\- \\&'D \\-e f\n");
});

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FURTHER_COMMANDS, GENERATE } from "../../src/options/commands";
import { rowsOf } from "../../src/options/rows";

/** The requests of man(7) that the page is made of. */
const REQUESTS = ["SH", "SS", "TP", "TH", "PP", "br", '\\"'];

it("has every command, every option and nothing that roff would take for a request", () => {
  const page = readFileSync(new URL("../../man/vd-generate.1", import.meta.url), "utf8");
  const text = page.replaceAll(/\\f[BIR]/g, "").replaceAll("\\-", "-");
  for (const { words } of FURTHER_COMMANDS) expect(text).toContain(`vd-generate ${words} [options]`);
  for (const row of [GENERATE, ...FURTHER_COMMANDS].flatMap(rowsOf))
    expect(text, row.name).toContain(`\n${row.form.flags.replace(" [FILE]", "[=FILE]")}`);
  const requests = [...page.matchAll(/^[.'](\S+)/gm)].map(([, name]) => name!);
  expect(new Set(requests)).toEqual(new Set(REQUESTS));
  expect(page.replaceAll(/\\(?:f[BIR]|-|e|&|\(mu|")/g, "")).not.toContain("\\");
});

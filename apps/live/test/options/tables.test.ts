import { readFileSync } from "node:fs";
import { cliRows, docOf, helpLine } from "@vd/svd-pipeline/options";
import { expect, it } from "vitest";
import { BENCH, DRIFT, PLAY } from "../../src/options/commands";
import { vdLive } from "../support/harness";

it.each([PLAY, BENCH, DRIFT])(
  "the help and the manual page of '$words' have every option",
  async ({ words, groups }) => {
    const { status, stdout } = await vdLive([...(words === "" ? [] : [words]), "--help"]);
    const help = stdout.toString().replaceAll(/\s+/g, " ");
    const page = readFileSync(new URL("../../man/vd-live.1", import.meta.url), "utf8");
    const manual = page.replaceAll(/\\f[BIR]/g, "").replaceAll("\\-", "-");
    expect(status).toBe(0);
    for (const row of groups.flatMap(({ table }) => cliRows(table))) {
      expect(help).toContain(` ${row.form.flags} ${helpLine(docOf(row))}`);
      expect(manual).toContain(`\n${row.form.flags}`);
    }
  },
);

it("tells its version", async () => {
  expect((await vdLive(["--version"])).stdout.toString()).toBe("1.2.3\n");
});

import { cliRows, helpLine } from "@vd/svd-pipeline/options";
import { describe, expect, it } from "vitest";
import { BENCH_TABLE } from "../../src/options/tables";
import { vdBench } from "../support/harness";

const COMMANDS = [
  "doctor",
  "ops",
  "unet",
  "vae",
  "clip",
  "e2e",
  "memory",
  "compare",
  "gate",
  "roofline",
  "measure",
  "quality",
];

/** The help of every command, each as one line. */
async function helps(): Promise<Map<string, string>> {
  const texts = COMMANDS.map(async (name) => (await vdBench([name, "--help"])).stdout.replaceAll(/\s+/g, " "));
  return new Map((await Promise.all(texts)).map((text, i) => [COMMANDS[i]!, text]));
}

describe("options of vd-bench", () => {
  it("are each taken by a command, whose help says what the table says", async () => {
    const all = [...(await helps()).values()];
    for (const { form, rows } of cliRows(BENCH_TABLE)) {
      const shown = all.filter((text) => text.includes(` ${form.flags} `));
      expect(shown.length, form.flags).toBeGreaterThan(0);
      for (const text of shown) expect(text, form.flags).toContain(helpLine(rows[0]!.doc));
    }
  });

  it("show their defaults, and a command its own", async () => {
    const texts = await helps();
    expect(texts.get("ops")).toContain('--rounds <N> turns of each contender (default: "5")');
    expect(texts.get("unet")).toContain('or none (default: "eager,onnxruntime")');
    expect(texts.get("measure")).toContain('or none (default: "eager,compile")');
    expect(texts.get("ops")).not.toContain("--peers");
  });

  it.each([
    [["ops", "guide", "--rounds", "0"], '[--rounds] expected a whole number from 1 to 10000, got "0"'],
    [["ops", "guide", "--limit", "x"], "[--limit] expected a whole number from 1 to 10000"],
    [["unet", "--e2e-rounds", "1.5"], "[--e2e-rounds] expected a whole number"],
    [["unet", "--peers", "eager,x"], "[--peers] expected one of eager, compile, onnxruntime, tensorrt"],
    [["measure", "-m", "x", "-o", "x.json", "--seed", "-1"], "[--seed] expected a whole number from 0 to 4294967295"],
    [["measure", "-o", "x.json"], "required option '-m, --model <DIR>' not specified"],
  ])("%j is wrong usage", async (argv, words) => {
    expect(await vdBench(argv)).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining(words) });
  });
});

import { isVdError } from "@vd/kernels-native";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { modelDefaults } from "../../src/options/check-generate";
import { checkTable } from "../../src/options/check-table";
import { faultOf } from "../../src/options/check-value";
import { type CliRow, cliRows, readCli, writeCli, writtenKind } from "../../src/options/cli";
import { GENERATE_TABLE } from "../../src/options/generate-table";
import type { WrittenKind } from "../../src/options/kinds";
import { LOAD_TABLE } from "../../src/options/load-table";
import type { ModelFacts, OptionRow, OptionTable } from "../../src/options/option";

const TABLES: readonly OptionTable[] = [GENERATE_TABLE, LOAD_TABLE];
const OPTIONS = TABLES.flatMap((table) => Object.entries(table));
const FORMS = TABLES.flatMap(cliRows);
const MODELS: readonly ModelFacts[] = [
  { sampleSize: 128, factor: 8, numFrames: 14 },
  { sampleSize: 100, factor: 8, numFrames: 6 },
  { sampleSize: 768, factor: 8, numFrames: 25 },
  { sampleSize: undefined, factor: 8, numFrames: 25 },
];

/** Every value that an option has when nothing is said. */
function defaultsOf({ default: given }: OptionRow): unknown[] {
  if (given?.kind === "always") return [given.value];
  if (given?.kind === "device") return [given.cpu, given.cuda];
  return given?.kind === "model" ? MODELS.map((facts) => given.of(facts)) : [];
}

/** Values of a kind, some of them outside its range. */
function valuesOf(kind: WrittenKind): fc.Arbitrary<unknown> {
  switch (kind.kind) {
    case "integer":
      return fc.integer({ min: kind.min - 3, max: kind.max + 3 });
    case "real":
      return fc.double({ min: kind.min - 1, max: kind.max + 1, noNaN: true });
    case "side":
      return fc.integer({ min: -1, max: kind.max / 8 + 2 }).map((eighths) => 8 * eighths);
    case "seed":
      return fc.bigInt({ min: -2n, max: 2n ** 64n + 2n });
    case "choice":
      return fc.constantFrom(...kind.values, ...(kind.also ?? []), "none of them");
    case "boolean":
      return fc.boolean();
    case "devices":
      return fc.array(fc.constantFrom("cpu", "cuda:1", 0, 2, "3", 100, "x"), { maxLength: 3 });
    case "numbers":
      return fc.array(fc.integer(), { minLength: 1 });
    default:
      return fc.string();
  }
}

/** Whether something throws a VdError; anything else it throws is thrown on. */
function isRefused(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch (error) {
    if (!isVdError(error)) throw error;
    return true;
  }
}

const check = (row: CliRow, options: Record<string, unknown>) => {
  const table = Object.fromEntries(row.options.map((name, i) => [name, row.rows[i]!]));
  return checkTable("test", table, options);
};

describe("option tables", () => {
  const settled = OPTIONS.flatMap(([name, row]) => defaultsOf(row).map((value) => [name, value, row] as const));
  it.each(settled)("%s: its default %s passes its own check", (_, value, { kind }) => {
    expect(faultOf(kind, value)).toBeUndefined();
  });

  const withDefaults = FORMS.filter(({ rows }) => defaultsOf(rows[0]!).length > 0);
  it.each(withDefaults.map((row) => [row.name, row] as const))("%s: defaults survive being typed", (_, row) => {
    const choices = row.rows.map(defaultsOf);
    for (const [i] of choices[0]!.entries()) {
      const values = choices.map((all) => all[i]);
      const typed = writtenKind(row).kind === "boolean" ? (values[0] as boolean) : writeCli(row, values);
      const read = readCli(row, typed, row.name);
      expect(row.options.map((name) => read[name])).toEqual(values);
      expect(check(row, read)).toEqual(read);
    }
  });

  it.each(FORMS.map((row) => [row.name, row] as const))("%s: the command line and the library agree", (_, row) => {
    const kind = writtenKind(row);
    const values = row.form.pair
      ? // A range that is typed rises; a program may also let it fall.
        fc.tuple(valuesOf(kind), valuesOf(kind)).map((both) => both.sort((a, b) => Number(a) - Number(b)))
      : valuesOf(kind).map((value) => [value]);
    fc.assert(
      fc.property(values, (given) => {
        const options = Object.fromEntries(row.options.map((name, i) => [name, given[i]]));
        const typed = isRefused(() => readCli(row, writeCli(row, given), row.name));
        expect(typed).toBe(isRefused(() => check(row, options)));
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  it("have one row for each flag and a sentence for each option", () => {
    const names = FORMS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const [name, { doc }] of OPTIONS) expect(`${name}: ${doc}`).toMatch(/[\w`]\.$/);
  });
});

describe("defaults of models", () => {
  it("are those of the published models, or suit a small one", () => {
    const common = { steps: 25, fps: 7, motionBucketId: 127, noiseAugStrength: 0.02, minGuidance: 1 };
    const small = { ...common, steps: 10, maxGuidance: 2 };
    const full = { ...common, width: 1024, height: 576, maxGuidance: 3, numFrames: 25, clipFrames: 25 };
    expect(MODELS.map(modelDefaults)).toEqual([
      { ...small, width: 128, height: 128, numFrames: 14, clipFrames: 14 },
      { ...small, width: 96, height: 96, numFrames: 6, clipFrames: 6 },
      full,
      full,
    ]);
  });
});

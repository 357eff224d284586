import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "@vd/hub";
import { isVdError } from "@vd/kernels-native";
import { createSampler } from "@vd/sampling";
import { makeModels } from "@vd/svd-pipeline";
import { parseVaeConfig } from "@vd/vae-opt";
import * as fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { parseClipVisionConfig, parseUnetConfig } from "../../src/models/index";
import type { ModelComponents } from "../../src/opening/components";
import { openModelFolder } from "../../src/opening/folder";
import { modelDefaults } from "../../src/options/check-generate";
import { copyOfTiny, TINY_SVD } from "../support/tiny-model";

/** `VD_LONG=1 pnpm vitest run mutated-configs` draws many more. */
const RUNS = process.env.VD_LONG === "1" ? 5_000 : 600;

type Json = Record<string, unknown>;

const readTiny = (name: string) => JSON.parse(readFileSync(join(TINY_SVD, name), "utf8")) as Json;

let tiny: ModelComponents;
beforeAll(async () => {
  tiny = await openModelFolder(TINY_SVD);
});

/** What opening does with each configuration of a model, without the files around it. */
const USES: Readonly<Record<string, (json: Json) => unknown>> = {
  "unet/config.json": (json) => makeModels({ ...tiny, unet: { ...tiny.unet, config: parseUnetConfig(json) } }),
  "vae/config.json": (json) => {
    const models = makeModels({ ...tiny, vae: { ...tiny.vae, config: parseVaeConfig(json) } });
    const sampleSize = typeof json.sample_size === "number" ? json.sample_size : undefined;
    return [models, modelDefaults({ sampleSize, factor: 8, numFrames: 14 })];
  },
  "image_encoder/config.json": (json) =>
    makeModels({ ...tiny, imageEncoder: { ...tiny.imageEncoder, config: parseClipVisionConfig(json) } }),
  "scheduler/scheduler_config.json": (json) => createSampler(json, { steps: 3 }),
};

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

/** Values that a key can have and should not. */
const oddValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    "",
    "gelu",
    "constructor",
    "__proto__",
    "NaN",
    [],
    {},
    [[]],
    [null],
    ["a"],
  ),
  fc.constantFrom(0, -0, -1, 0.5, 1, 2, 3, 64, 1e4, 2 ** 20, 5e7, 2 ** 31, 2 ** 32 + 1, 1e15, 2 ** 53, 1e300, Infinity),
  fc.constantFrom<unknown>({ toString: 1 }, { length: 3 }, [1e15], [64, 64, 1e15], "Infinity", deep(50)),
  fc.constantFrom(
    "DDIMScheduler",
    "HeunDiscreteScheduler",
    "UniPCMultistepScheduler",
    "LCMScheduler",
    "EDMEulerScheduler",
  ),
  fc.integer(),
  fc.double(),
);

/** Sets a key to an odd value, removes it, or makes one number of a list odd. */
function mutated(json: Json, edits: readonly { key: number; kind: string; value: unknown }[]): Json {
  const copy = structuredClone(json);
  for (const { key, kind, value } of edits) {
    const names = Object.keys(copy);
    const name = names[key % Math.max(1, names.length)];
    if (name === undefined) continue;
    const old = copy[name];
    if (kind === "remove") delete copy[name];
    else if (kind === "element" && Array.isArray(old)) old[key % (old.length + 1)] = value;
    else copy[name] = value;
  }
  return copy;
}

it("every mutated configuration opens or is a typed error, within a moment", () => {
  const outcome = { opened: 0, refused: 0 };
  const files = Object.keys(USES);
  const originals = files.map(readTiny);
  const edit = fc.record({
    key: fc.nat(40),
    kind: fc.constantFrom("set", "set", "element", "remove"),
    value: oddValue,
  });
  const cases = fc.record({ file: fc.nat(files.length - 1), edits: fc.array(edit, { minLength: 1, maxLength: 3 }) });
  let longestMs = 0;
  fc.assert(
    fc.property(cases, ({ file, edits }) => {
      const start = process.cpuUsage().user;
      try {
        USES[files[file]!]!(mutated(originals[file]!, edits));
        outcome.opened++;
      } catch (error) {
        if (!isVdError(error)) throw error;
        outcome.refused++;
      }
      longestMs = Math.max(longestMs, (process.cpuUsage().user - start) / 1000);
    }),
    { seed: 20_270, numRuns: RUNS },
  );
  // Both must be common, or the test would show nothing.
  expect(outcome.opened).toBeGreaterThan(RUNS / 15);
  expect(outcome.refused).toBeGreaterThan(RUNS / 4);
  expect(longestMs).toBeLessThan(1000);
}, 120_000);

it("every damaged text of a configuration is read or is a typed error", async () => {
  const path = join(temporaryFolder(), "config.json");
  const text = readFileSync(join(TINY_SVD, "unet/config.json"), "utf8");
  const pieces = fc.constantFrom('"', "\\", '\\"', "{", "[[[[", "]", "}", ",", ":", "NaN", "-Infinity", "\u0000", "é");
  const edits = fc.array(fc.record({ at: fc.nat(text.length), piece: pieces, cut: fc.nat(30) }), { minLength: 1 });
  const outcome = { read: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(edits, async (list) => {
      writeFileSync(
        path,
        list.reduce((old, { at, piece, cut }) => old.slice(0, at) + piece + old.slice(at + cut), text),
      );
      try {
        await readJson(path);
        outcome.read++;
      } catch (error) {
        if (!isVdError(error)) throw error;
        outcome.refused++;
      }
    }),
    { seed: 20_271, numRuns: 300 },
  );
  expect(outcome.refused).toBeGreaterThan(100);
});

it("a model folder's class may be of any type", async () => {
  for (const value of [{ toString: 1 }, ["StableVideoDiffusionPipeline"], 3, null]) {
    const model = copyOfTiny();
    const path = join(model, "model_index.json");
    writeFileSync(path, JSON.stringify({ ...readTiny("model_index.json"), _class_name: value }));
    await expect(openModelFolder(model)).rejects.toMatchObject({ code: "unsupported", got: "no _class_name" });
  }
});

import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { FILE_ROWS } from "../../src/options/rows";

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as object;
const schema = read("../../schema/config.schema.json");
const isValid = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);

describe("the schema of config files", () => {
  it("has every option of the command line and nothing else", () => {
    const { properties } = schema as { properties: object };
    expect(Object.keys(properties)).toEqual(["$schema", ...FILE_ROWS.keys()]);
  });

  it("takes the example", () => {
    expect(isValid(read("../../../../examples/generate.json"))).toBe(true);
  });

  const right: object[] = [
    {},
    { $schema: "./config.schema.json", image: "cat.png", output: "cat.webm", overwrite: false, json: true },
    { frames: 1, steps: 10_000, fps: 240, motion: 0.5, "noise-aug": 0.02, threads: 1024 },
    { frames: "14", "noise-aug": ".02", seed: "18446744073709551615" },
    { seed: 7 },
    { seed: "0xff" },
    { size: "64x48", guidance: "1:2", "guidance-shape": "triangle" },
    { guidance: 1.5 },
    { device: "cuda", dtype: "fp16", memory: "low", sampler: "euler_a", encoder: "ffmpeg" },
    { preview: true },
    { preview: "look.webp" },
  ];
  it.each(right)("takes %j", (config) => {
    expect(isValid(config), JSON.stringify(isValid.errors)).toBe(true);
  });

  const wrong: object[] = [
    { stps: 4 },
    { config: "other.json" },
    { frames: 0 },
    { frames: 2.5 },
    { frames: "many" },
    { frames: true },
    { fps: 241 },
    { "noise-aug": 101 },
    { seed: -1 },
    { seed: 2 ** 60 },
    { size: "64" },
    { size: 64 },
    { guidance: "1:2:3" },
    { dtype: "float64" },
    { json: "yes" },
    { image: "" },
    { preview: 3 },
    [],
  ];
  it.each(wrong)("refuses %j", (config) => {
    expect(isValid(config)).toBe(false);
  });
});

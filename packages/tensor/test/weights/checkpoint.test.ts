import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openCheckpoint, writeSafetensors } from "../../src/weights/safetensors";
import { Folder, vdErrorOf } from "./raw-file";

const folder = new Folder();
afterAll(() => folder.remove());

function model(name: string, files: Record<string, string[]>, index?: [string, unknown]): string {
  const path = folder.at(name);
  mkdirSync(path);
  for (const [file, tensors] of Object.entries(files)) {
    const made = tensors.map((tensor, i) => ({
      name: tensor,
      dtype: "U8" as const,
      shape: [1],
      data: Uint8Array.of(i),
    }));
    writeSafetensors(join(path, file), made);
  }
  if (index) writeFileSync(join(path, index[0]), typeof index[1] === "string" ? index[1] : JSON.stringify(index[1]));
  return path;
}

test("a single file, by itself and in its folder", () => {
  const path = model("single", { "diffusion_pytorch_model.safetensors": ["a", "b"] });
  for (const from of [path, join(path, "diffusion_pytorch_model.safetensors")]) {
    using checkpoint = openCheckpoint(from);
    expect([...checkpoint.entries.keys()]).toEqual(["a", "b"]);
    const { file, entry } = checkpoint.entries.get("b")!;
    expect([...file.readBytes(entry.name)]).toEqual([1]);
  }
});

test("the variant is opened only when asked for, and a missing one is explained", () => {
  const path = model("variants", { "model.safetensors": ["plain"], "model.fp16.safetensors": ["half"] });
  using plain = openCheckpoint(path);
  expect([...plain.entries.keys()]).toEqual(["plain"]);
  using half = openCheckpoint(path, { variant: "fp16" });
  expect([...half.entries.keys()]).toEqual(["half"]);
  const without = model("no-variant", { "model.safetensors": ["plain"] });
  expect(vdErrorOf(() => openCheckpoint(without, { variant: "fp16" })).hint).toMatch(/leave out variant/);
});

const shards = { "model-1-of-2.safetensors": ["a", "b"], "model-2-of-2.safetensors": ["c"] };
const weightMap = { c: "model-2-of-2.safetensors", a: "model-1-of-2.safetensors", b: "model-1-of-2.safetensors" };

test("shards are opened through their index, by folder or by the index file, also as a variant", () => {
  const path = model("sharded", shards, ["model.safetensors.index.json", { weight_map: weightMap }]);
  for (const from of [path, join(path, "model.safetensors.index.json")]) {
    using checkpoint = openCheckpoint(from);
    expect([...checkpoint.entries.keys()].sort()).toEqual(["a", "b", "c"]);
    expect(checkpoint.files).toHaveLength(2);
    expect([...checkpoint.entries.get("b")!.file.readBytes("b")]).toEqual([1]);
  }
  const half = model("sharded-half", shards, ["model.safetensors.index.fp16.json", { weight_map: weightMap }]);
  using checkpoint = openCheckpoint(half, { variant: "fp16" });
  expect(checkpoint.entries.size).toBe(3);
});

test("an index cannot reach outside its folder", () => {
  writeSafetensors(folder.at("secret.safetensors"), [{ name: "a", dtype: "U8", shape: [1], data: Uint8Array.of(9) }]);
  const names = [
    "../secret.safetensors",
    folder.at("secret.safetensors"),
    "..\\secret.safetensors",
    "C:secret",
    "..",
    "",
    3,
  ];
  for (const [i, name] of names.entries()) {
    const path = model(`escape-${i}`, shards, ["model.safetensors.index.json", { weight_map: { a: name } }]);
    const error = vdErrorOf(() => openCheckpoint(path));
    expect(error.code, String(name)).toBe("weights");
    expect(error.where.endsWith("index.json: a")).toBe(true);
    expect(error.expected).toMatch(/plain file name/);
  }
});

test("damaged indexes and shards are typed errors", () => {
  const open = (name: string, index: unknown) =>
    vdErrorOf(() => openCheckpoint(model(name, shards, ["model.safetensors.index.json", index])));
  expect(open("text", "{").expected).toBe("an index in JSON");
  expect(open("null", "null").expected).toBe("an index in JSON");
  expect(open("none", "{}").expected).toMatch(/weight_map/);
  expect(open("deep", `{"metadata":${"[".repeat(20)}${"]".repeat(20)}}`).expected).toMatch(/at most 17 levels/);
  expect(open("list", { weight_map: [] }).got).toBe("[]");
  const lacking = open("lacking", { weight_map: { d: "model-1-of-2.safetensors" } });
  expect(lacking).toMatchObject({ code: "weights", expected: "a tensor" });
  expect(open("lost", { weight_map: { a: "model-3-of-2.safetensors" } })).toMatchObject({ code: "io" });
});

test("a folder with nothing to open says what was looked for and what is there", () => {
  expect(vdErrorOf(() => openCheckpoint(model("empty", {})))).toMatchObject({ code: "weights" });
  const other = vdErrorOf(() => openCheckpoint(model("other", { "svd.safetensors": ["a"] })));
  expect(other.got).toBe("svd.safetensors");
  expect(vdErrorOf(() => openCheckpoint(folder.at("missing")))).toMatchObject({ code: "io" });
});

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exportBytes, sourceBytes, sourceRange } from "@vd/hub";
import { type SafetensorsDtype, SafetensorsFile, writeSafetensors } from "@vd/tensor";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  COMPONENT_NAMES,
  type ComponentName,
  diffusersToOriginal,
  inferConfigs,
  originalToDiffusers,
} from "../../src/checkpoint/index";

const model = fileURLToPath(new URL("../../../../models/tiny-svd/", import.meta.url));
const WEIGHTS: Record<ComponentName, string> = {
  unet: "unet/diffusion_pytorch_model.safetensors",
  vae: "vae/diffusion_pytorch_model.safetensors",
  image_encoder: "image_encoder/model.safetensors",
};
const readJson = (name: string) => JSON.parse(readFileSync(join(model, name), "utf8"));

describe("tiny-svd as a single file", () => {
  let dir: string;
  let single: SafetensorsFile;
  const folders = new Map<ComponentName, SafetensorsFile>();
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "vd-checkpoint-"));
    for (const name of COMPONENT_NAMES) folders.set(name, SafetensorsFile.open(join(model, WEIGHTS[name])));
    const exported = diffusersToOriginal(new Map([...folders].map(([name, file]) => [name, file.entries.values()])));
    const tensors = [...exported].map(([name, source]) => ({
      name,
      dtype: source.dtype as SafetensorsDtype,
      shape: source.shape,
      data: () => exportBytes(source, (part) => folders.get(source.component)!.readBytes(part)),
    }));
    writeSafetensors(join(dir, "tiny.safetensors"), tensors);
    single = SafetensorsFile.open(join(dir, "tiny.safetensors"));
  });
  afterAll(() => {
    for (const file of [single, ...folders.values()]) file.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it("has the original names only", () => {
    const names = [...single.entries.keys()];
    expect(names.filter((name) => !/^(?:model\.diffusion_model|first_stage_model|conditioner)\./.test(name))).toEqual(
      [],
    );
    expect(names).toContain("model.diffusion_model.output_blocks.3.2.conv.weight");
    expect(
      single.entry("conditioner.embedders.0.open_clip.model.visual.transformer.resblocks.3.attn.in_proj_weight").shape,
    ).toEqual([384, 128]);
    expect(single.entry("first_stage_model.decoder.mid.attn_1.k.weight").shape).toEqual([64, 64, 1, 1]);
  });

  it.each(COMPONENT_NAMES)("gives back every name, shape and byte of %s", (component) => {
    const sources = originalToDiffusers(single.entries.values()).get(component)!;
    const folder = folders.get(component)!;
    expect([...sources.keys()].sort()).toEqual([...folder.entries.keys()].sort());
    for (const [name, source] of sources) {
      const { dtype, shape } = folder.entry(name);
      expect([name, source.dtype, source.shape]).toEqual([name, dtype, shape]);
      const found = Buffer.from(sourceBytes(source, (stored) => single.readBytes(stored)));
      expect([name, found.equals(folder.readBytes(name))]).toEqual([name, true]);
    }
  });

  it("puts the transposed projection into the file, and the parts of a merged matrix where they are said to be", () => {
    const visual = "conditioner.embedders.0.open_clip.model.visual";
    const [there, here] = [
      single.readBytes(`${visual}.proj`),
      folders.get("image_encoder")!.readBytes("visual_projection.weight"),
    ];
    const at = (bytes: Uint8Array, row: number, column: number) => [
      ...bytes.subarray((row * 128 + column) * 2).subarray(0, 2),
    ];
    for (const [row, column] of [
      [0, 1],
      [5, 77],
      [127, 3],
    ] as const) {
      expect(at(there, row, column)).toEqual(at(here, column, row));
    }
    expect(at(there, 0, 1)).not.toEqual(at(here, 0, 1));
    const source = originalToDiffusers(single.entries.values())
      .get("image_encoder")!
      .get("vision_model.encoder.layers.1.self_attn.v_proj.weight")!;
    expect(sourceRange(source)).toEqual({ byteOffset: 2 * 128 * 128 * 2, byteLength: 128 * 128 * 2 });
  });

  it("tells its configuration by its shapes", () => {
    const shapes = originalToDiffusers(single.entries.values());
    const configs = inferConfigs(shapes, { numFrames: 14, scalingFactor: 0.3237 });
    const unset = ["_diffusers_version", "sample_size"];
    const comparable = (config: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(config).filter(([key]) => !unset.includes(key)));
    expect(comparable(configs.unet)).toEqual(comparable(readJson("unet/config.json")));
    expect(comparable(configs.vae)).toEqual(comparable(readJson("vae/config.json")));
    const { _diffusers_version, ...scheduler } = readJson("scheduler/scheduler_config.json");
    expect(scheduler).toMatchObject(configs.scheduler);
    expect(configs.feature_extractor).toEqual(readJson("feature_extractor/preprocessor_config.json"));
    const clip = readJson("image_encoder/config.json");
    for (const [key, value] of Object.entries(configs.image_encoder)) expect([key, value]).toEqual([key, clip[key]]);
  });
});

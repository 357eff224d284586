import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeModels, openModelFolder } from "@vd/svd-pipeline";
import { SafetensorsFile } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const files = (dir: string) => (readdirSync(dir, { recursive: true }) as string[]).filter((name) => /\./.test(name));
const hash = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
const make = (dir: string, seed: string) => vdBench(["make-model", "tiny", "-o", dir, "--seed", seed]);

describe("vd-bench make-model", () => {
  it("writes a model that the pipeline opens, the same bytes for the same seed", async () => {
    const folder = temporaryFolder();
    const [a, b, c] = ["a", "b", "c"].map((name) => join(folder, name)) as [string, string, string];
    expect(await make(a, "7")).toMatchObject({ status: 0, stdout: expect.stringContaining("0.02 GB") });
    await make(b, "7");
    await make(c, "8");
    for (const name of files(a)) {
      expect(hash(join(b, name)), name).toBe(hash(join(a, name)));
      expect(hash(join(c, name)) === hash(join(a, name)), name).toBe(!name.endsWith(".safetensors"));
    }
    expect(files(a).some((name) => name.endsWith(".tmp"))).toBe(false);
    makeModels(await openModelFolder(a, "fp16"));
  });

  it("gives norms near the identity, mix factors that are not zero, and layers scaled by their inputs", async () => {
    const dir = join(temporaryFolder(), "m");
    await make(dir, "1");
    using unet = SafetensorsFile.open(join(dir, "unet/diffusion_pytorch_model.fp16.safetensors"));
    const values = (name: string) => unet.readFloat32(name);
    const rms = (name: string) => Math.sqrt(values(name).reduce((sum, v) => sum + v * v, 0) / values(name).length);
    expect(rms("conv_norm_out.weight")).toBeCloseTo(1, 1);
    expect(new Set(values("conv_norm_out.weight")).size).toBeGreaterThan(10);
    expect(rms("conv_norm_out.bias")).toBeGreaterThan(0.05);
    const mixes = [...unet.entries.keys()].filter((name) => name.endsWith("mix_factor"));
    expect(mixes.length).toBeGreaterThan(5);
    for (const name of mixes) expect(Math.abs(values(name)[0]!), name).toBeGreaterThan(0.01);
    expect(rms("conv_in.weight") * Math.sqrt(8 * 9)).toBeCloseTo(1, 1);
    expect(rms("time_embedding.linear_2.weight") * Math.sqrt(256)).toBeCloseTo(1, 1);
  });

  it("writes floats as Python's readers want them", async () => {
    const dir = join(temporaryFolder(), "m");
    await make(dir, "1");
    expect(readFileSync(join(dir, "image_encoder/config.json"), "utf8")).toContain('"initializer_factor": 1.0,');
    expect(readFileSync(join(dir, "scheduler/scheduler_config.json"), "utf8")).toContain('"sigma_max": 700.0,');
  });

  it("refuses wrong names, seeds and places in a sentence", async () => {
    const folder = temporaryFolder();
    const wrong = await vdBench(["make-model", "svd-xl", "-o", join(folder, "m")]);
    expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining("one of svd-xt, svd, tiny") });
    expect((await make(join(folder, "m"), "-1")).stderr).toContain("--seed");
    mkdirSync(join(folder, "taken"));
    writeFileSync(join(folder, "taken", "unet"), "a file");
    const taken = await make(join(folder, "taken"), "1");
    expect(taken).toMatchObject({ status: 1, stderr: expect.stringContaining("a folder that can be made") });
    expect(existsSync(join(folder, "taken", "model_index.json"))).toBe(false);
  });

  it("leaves no model behind when it is stopped", async () => {
    const dir = join(temporaryFolder(), "m");
    const ran = await vdBench(["make-model", "tiny", "-o", dir], AbortSignal.abort());
    expect(ran.status).toBe(130);
    expect(files(dir)).toEqual([]);
  });
});

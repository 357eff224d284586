import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInSlices, writeSafetensors } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { openComponentWeights } from "../../src/files/component-files";

const open = (dir: string, format: "fp32" | "fp16" = "fp32") => runInSlices(openComponentWeights(dir, "unet", format));

/** A model folder whose one network has these files; each holds one tensor. */
function modelFolder(...names: string[]): string {
  const dir = temporaryFolder();
  mkdirSync(join(dir, "unet"));
  for (const name of names) {
    const data = Float32Array.of(1, 2);
    writeSafetensors(join(dir, "unet", name), [{ name: "w", dtype: "F32", shape: [2], data }]);
  }
  return dir;
}

describe("openComponentWeights", () => {
  const plain = "diffusion_pytorch_model.safetensors";
  const half = "diffusion_pytorch_model.fp16.safetensors";

  it.each([
    ["fp32", plain],
    ["fp16", half],
  ] as const)("takes the file that a download in %s would have", async (format, name) => {
    const dir = modelFolder(plain, half);
    const { weights, paths } = await open(dir, format);
    expect(paths).toEqual([join(dir, "unet", name)]);
    expect(weights.tensor("w", [2]).dtype).toBe("f32");
  });

  it("takes a file of the other libraries' name last", async () => {
    const dir = modelFolder("model.safetensors");
    expect((await open(dir)).paths).toEqual([join(dir, "unet", "model.safetensors")]);
  });

  it("tells of weights in another form, and of none", async () => {
    const dir = modelFolder();
    expect(await failureOf(open(dir))).toMatchObject({ code: "weights", got: "none" });
    writeFileSync(join(dir, "unet", "model.bin"), "");
    const error = await failureOf(open(dir));
    expect([error.where, error.got]).toEqual([join(dir, "unet"), "model.bin"]);
    expect(error.hint).toContain("convert it");
  });
});

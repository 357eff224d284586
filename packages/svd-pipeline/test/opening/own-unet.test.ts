import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fromFloat16Array, SafetensorsFile, type TensorToWrite, writeSafetensors } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { sameBytes } from "../support/measures";
import { writeSingleFile } from "../support/single-file";
import { openTiny, QUICK, TINY_SVD, temporaryFolder, WEIGHT_FILES } from "../support/tiny-model";

const OPTIONS = { ...QUICK, maxGuidance: 2, steps: 2 };
const PREFIX = "model.diffusion_model.";

/** The tensors of a file whose `layer` is 0.9 of what it was, under other names. */
function changed(path: string, layer: string, rename: (name: string) => string | undefined): TensorToWrite[] {
  using file = SafetensorsFile.open(path);
  return [...file.entries.values()].flatMap(({ name, shape }) => {
    const values = fromFloat16Array(new Uint16Array(file.readBytes(name).slice().buffer));
    const data = name === layer ? values.map((value) => 0.9 * value) : values;
    const newName = rename(name);
    return newName === undefined ? [] : [{ name: newName, shape, dtype: "F32" as const, data }];
  });
}

/** Writes the changed UNet with the names of diffusers. */
function writeDiffusers(path: string): string {
  const unet = join(TINY_SVD, WEIGHT_FILES.unet);
  writeSafetensors(
    path,
    changed(unet, "conv_out.weight", (name) => name),
  );
  return path;
}

/** Writes it with the original names: alone, with the prefix of whole checkpoints, or within one. */
function writeOriginal(path: string, how: "bare" | "prefixed" | "whole"): string {
  const whole = join(temporaryFolder(), "whole.safetensors");
  writeSingleFile(whole);
  const rename = (name: string) => {
    if (how === "whole") return name;
    if (!name.startsWith(PREFIX)) return undefined;
    return how === "bare" ? name.slice(PREFIX.length) : name;
  };
  writeSafetensors(path, changed(whole, `${PREFIX}out.2.weight`, rename));
  return path;
}

const bytesWith = async (unet: string) => {
  const pipeline = await openTiny({ unet });
  expect(pipeline.defaults.steps).toBe(10);
  return (await pipeline.generate(OPTIONS)).data;
};

describe("a UNet of its own", () => {
  it("is taken in every layout, with the same bytes, and the model's own is not used", async () => {
    const folder = temporaryFolder();
    const wanted = await bytesWith(writeDiffusers(join(folder, "unet.safetensors")));
    expect(sameBytes(wanted, (await (await openTiny()).generate(OPTIONS)).data)).toBe(false);
    for (const how of ["bare", "prefixed", "whole"] as const)
      expect([how, sameBytes(await bytesWith(writeOriginal(join(folder, `${how}.safetensors`), how)), wanted)]).toEqual(
        [how, true],
      );
    const saved = join(folder, "saved");
    for (const place of [saved, join(folder, "model", "unet")]) {
      mkdirSync(place, { recursive: true });
      cpSync(join(TINY_SVD, "unet", "config.json"), join(place, "config.json"));
      writeDiffusers(join(place, "diffusion_pytorch_model.safetensors"));
    }
    for (const place of [saved, join(folder, "model"), join(folder, "model", "unet")])
      expect([place, sameBytes(await bytesWith(place), wanted)]).toEqual([place, true]);
  });

  it("that is none is refused by name", async () => {
    const folder = temporaryFolder();
    const absent = await failureOf(openTiny({ unet: join(folder, "absent.safetensors") }));
    expect(absent.code).toBe("io");
    const empty = await failureOf(openTiny({ unet: folder }));
    expect(empty.message).toContain("[unet] expected a folder with config.json and weights");
    const vae = await failureOf(openTiny({ unet: join(TINY_SVD, WEIGHT_FILES.vae) }));
    expect(vae.code).toBe("weights");
    expect(vae.message).toContain("expected tensors named like conv_in.weight");
    const path = join(folder, "part.safetensors");
    writeSafetensors(path, [{ name: "input_blocks.0.0.weight", shape: [1], dtype: "F32", data: new Float32Array(1) }]);
    const part = await failureOf(openTiny({ unet: path }));
    expect(part.message).toContain("missing tensors: ");
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportBytes, exportsOfPairs } from "@vd/hub";
import { openDevice } from "@vd/kernels-native";
import { type SafetensorsDtype, SafetensorsFile, writeSafetensors } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { SvdAutoencoder, vaeLayoutOfDiffusers, vaeNamePairs } from "../../src/index";
import { noise } from "../support/run-module";

const TINY = "models/tiny-svd";
const WEIGHTS = `${TINY}/vae/diffusion_pytorch_model.safetensors`;
const LATENTS = { numFrames: 1, width: 2, height: 2, data: noise(16) };
const device = openDevice("cpu", { threads: 2 });

/** Writes the tiny autoencoder as a part of a checkpoint with the original names. */
function writeOriginal(path: string, prefix = "first_stage_model."): string {
  using file = SafetensorsFile.open(WEIGHTS);
  const pairs = vaeNamePairs(vaeLayoutOfDiffusers(new Set(file.entries.keys())));
  const { exports } = exportsOfPairs("vae", pairs, [...file.entries.values()]);
  const tensors = [...exports].map(([name, source]) => {
    const bytes = exportBytes(source, (part) => file.readBytes(part)).slice();
    return { name: prefix + name, dtype: source.dtype as SafetensorsDtype, shape: source.shape, data: () => bytes };
  });
  writeSafetensors(path, tensors);
  return path;
}

async function decodedBy(vae: SvdAutoencoder): Promise<Float32Array> {
  const { data } = await vae.decode(LATENTS);
  await vae.close();
  return data;
}

describe("an autoencoder", () => {
  it("is the same from a model's folder, its own folder, its file and a whole checkpoint", async () => {
    const wanted = await decodedBy(await SvdAutoencoder.fromPretrained(TINY, { device }));
    expect(await decodedBy(await SvdAutoencoder.fromPretrained(`${TINY}/vae`, { device }))).toEqual(wanted);
    // The file's folder has its config.json.
    expect(await decodedBy(await SvdAutoencoder.fromPretrained(WEIGHTS, { device }))).toEqual(wanted);
    const path = writeOriginal(join(temporaryFolder(), "svd.safetensors"));
    const single = await SvdAutoencoder.fromSingleFile(path, { device, scalingFactor: 0.3237 });
    expect(single.config).toEqual((await SvdAutoencoder.fromPretrained(TINY, { device })).config);
    expect(await decodedBy(single)).toEqual(wanted);
  });

  it("without a configuration has the published models' scaling factor", async () => {
    const path = writeOriginal(join(temporaryFolder(), "svd.safetensors"));
    expect((await SvdAutoencoder.fromSingleFile(path, { device })).config.scalingFactor).toBe(0.18215);
  });

  it.each([
    ["", "attr"],
    ["/no/such/model", "attr"],
  ])("is not opened from %s", async (source, code) => {
    await expect(SvdAutoencoder.fromPretrained(source)).rejects.toMatchObject({ code });
  });

  it("is not opened from other files, and says why", async () => {
    const folder = temporaryFolder();
    await expect(SvdAutoencoder.fromPretrained(folder)).rejects.toMatchObject({ code: "io" });
    const other = writeOriginal(join(folder, "other.safetensors"), "model.");
    await expect(SvdAutoencoder.fromSingleFile(other)).rejects.toThrow(/first_stage_model/);
    writeFileSync(join(folder, "broken.safetensors"), "no header");
    await expect(SvdAutoencoder.fromSingleFile(join(folder, "broken.safetensors"))).rejects.toMatchObject({
      code: "weights",
    });
  });
});

it("an observer that is none is refused, and one is heard", async () => {
  for (const observer of [7, null, {}, { scope: () => {} }])
    await expect(SvdAutoencoder.fromPretrained(TINY, { observer: observer as never })).rejects.toMatchObject({
      code: "attr",
      message: expect.stringContaining("[observer] expected a WorkObserver, such as a profiler, got "),
    });
  let loaded = 0;
  const observer = {
    scope: <T>(_: string, body: () => T): T => body(),
    ...{ planLoaded: () => void loaded++, planRan: () => {}, planFreed: () => {} },
  };
  await decodedBy(await SvdAutoencoder.fromPretrained(TINY, { device, observer }));
  expect(loaded).toBeGreaterThan(0);
});

it("a scaling factor that is given counts for folders too, and one that is none is refused", async () => {
  const vae = await SvdAutoencoder.fromPretrained("models/tiny-svd", { scalingFactor: 0.5 });
  expect(vae.config.scalingFactor).toBe(0.5);
  await vae.close();
  for (const scalingFactor of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "0.18" as never])
    await expect(SvdAutoencoder.fromPretrained("models/tiny-svd", { scalingFactor })).rejects.toThrow(
      /\[scalingFactor\] expected a positive number/,
    );
});

it("options that are none are refused in sentences", async () => {
  const open = (options: unknown) => SvdAutoencoder.fromPretrained("models/tiny-svd", options as never);
  await expect(open(null)).rejects.toThrow(/\[fromPretrained\] \[options\] expected an object, got null/);
  await expect(open({ dtype: "float16" })).rejects.toThrow(
    /\[dtype\] expected one of device, .*, got an unknown option/,
  );
  await expect(open({ device: 5 })).rejects.toThrow(/\[device\] expected one of cpu, cuda, got 5/);
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { bundledModelFolder, bundledPicture } from "../../src/model/bundled";
import { runOptions } from "../../src/model/defaults";
import { modelSource } from "../../src/model/source";
import { parseArguments } from "../../src/options/parse";
import { readPicture } from "../../src/picture";
import { FAKE_DEFAULTS } from "../support/fake-pipeline";

describe("modelSource", () => {
  it("is the bundled model when nothing is named", async () => {
    expect(await modelSource(undefined)).toEqual({
      ...{ kind: "folder", name: bundledModelFolder(), title: "tiny-svd (bundled)" },
    });
    await expect(readPicture(bundledPicture(), USE)).resolves.toMatchObject({ width: 128, height: 128 });
  });

  it("tells folders, files and hub ids apart", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "svd.safetensors");
    writeFileSync(file, "");
    expect(await modelSource(folder)).toEqual({ kind: "folder", name: folder, title: folder });
    expect(await modelSource(file)).toEqual({ kind: "file", name: file, title: file });
    const hubId = "stabilityai/stable-video-diffusion-img2vid-xt-1-1";
    expect(await modelSource(hubId)).toEqual({ kind: "hub", name: hubId, title: hubId });
    expect(await modelSource(`hf:${hubId}`)).toEqual({ kind: "hub", name: `hf:${hubId}`, title: hubId });
    const page = `https://huggingface.co/${hubId}/tree/v1`;
    expect(await modelSource(page)).toEqual({ kind: "hub", name: page, title: `${hubId}@v1` });
    expect(await modelSource(`${hubId}@main`)).toMatchObject({ kind: "hub", name: `${hubId}@main` });
  });

  it.each(["./no/such", "/no/such", "nothing", "a/b/c", "a/b.safetensors", "../x", "hf:x", "https://a.b/c/d"])(
    "refuses %s",
    async (name) => {
      await expect(modelSource(name)).rejects.toMatchObject({ code: "io", where: "--model" });
    },
  );

  it("refuses other weights", async () => {
    const file = join(temporaryFolder(), "svd.ckpt");
    writeFileSync(file, "");
    await expect(modelSource(file)).rejects.toThrow("Convert other weights to safetensors first");
  });
});

/** A picture twice as high as wide. */
const PORTRAIT = { width: 40, height: 80, data: new Uint8Array(40 * 80 * 3) };
const USE = { width: 64, height: 64 };

describe("runOptions", () => {
  async function optionsOf(argv: string[]) {
    const parsed = await parseArguments(argv, { version: "" });
    if (parsed.kind !== "settings") throw new Error(parsed.text);
    return runOptions(parsed.settings, FAKE_DEFAULTS, PORTRAIT);
  }

  it("takes what is not said from the model", async () => {
    expect(await optionsOf([])).toEqual({ ...FAKE_DEFAULTS, guidance: "linear" });
  });

  it("takes one end of the guidance range from the model, or both from the user", async () => {
    expect(await optionsOf(["--guidance", "1:4"])).toMatchObject({ minGuidance: 1, maxGuidance: 4 });
  });

  it("takes the picture's shape with --size auto", async () => {
    // The fake model's 64x48 are about as many pixels.
    expect(await optionsOf(["--size", "auto"])).toMatchObject({ width: 32, height: 64 });
    expect(await optionsOf(["--size", "AUTO"])).not.toHaveProperty("autoSize");
  });

  it("takes what is said", async () => {
    const argv = ["--size", "16x8", "--frames", "2", "--steps", "3", "--fps", "9", "--motion", "1", "--noise-aug", "0"];
    expect(await optionsOf([...argv, "--guidance", "2", "--guidance-shape", "triangle"])).toEqual({
      ...{
        width: 16,
        height: 8,
        numFrames: 2,
        clipFrames: 5,
        steps: 3,
        fps: 9,
        motionBucketId: 1,
        noiseAugStrength: 0,
      },
      ...{ minGuidance: 2, maxGuidance: 2, guidance: "triangle" },
    });
  });
});

describe("readPicture", () => {
  it("explains what is wrong with a file", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "empty.png"), "");
    writeFileSync(join(folder, "text.png"), "hello");
    await expect(readPicture(join(folder, "empty.png"), USE)).rejects.toThrow("got empty.png: an empty file");
    await expect(readPicture(join(folder, "text.png"), USE)).rejects.toThrow("got text.png: 5 bytes that are none");
    await expect(readPicture(folder, USE)).rejects.toThrow("expected a picture file, got a folder");
    await expect(readPicture("https://127.0.0.1:1/c.png", USE)).rejects.toThrow("got a server that does not answer");
    await expect(readPicture(join(folder, "no.png"), USE)).rejects.toMatchObject({
      code: "io",
      message: `[IMAGE] expected a picture file, got no such file or folder (${join(folder, "no.png")}). Check the path.`,
    });
  });
});

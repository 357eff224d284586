import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { parseArguments } from "../../src/options/parse";
import type { Settings } from "../../src/settings";

async function settings(...argv: string[]): Promise<Settings> {
  const parsed = await parseArguments(argv, "1.2.3");
  if (parsed.kind !== "settings") throw new Error(parsed.text);
  return parsed.settings;
}

const nothingSaid = {
  image: undefined,
  output: "out.mp4",
  model: undefined,
  preview: false,
  encoder: "auto",
  json: false,
  quiet: false,
  profile: undefined,
  dryRun: false,
  overwrite: true,
};

describe("parseArguments", () => {
  it("has defaults for what is not the model's business", async () => {
    expect(await settings()).toMatchObject(nothingSaid);
    expect(await settings()).toMatchObject({ steps: undefined, size: undefined, seed: undefined });
  });

  const table: [string[], Partial<Settings>][] = [
    [["cat.png"], { image: "cat.png" }],
    [["-o", "x.gif", "cat.png"], { image: "cat.png", output: "x.gif" }],
    [["--output=x.webp"], { output: "x.webp" }],
    [["-m", "owner/name"], { model: "owner/name" }],
    [["--frames", "8", "--steps", "4"], { numFrames: 8, steps: 4 }],
    [["--steps", "4", "--steps", "5"], { steps: 5 }],
    [["--size", "64x48"], { size: { width: 64, height: 48 } }],
    [["--fps", "12", "--motion", "90", "--noise-aug", "0.1"], { fps: 12, motionBucketId: 90, noiseAugStrength: 0.1 }],
    [
      ["--guidance", "1:3", "--guidance-shape", "triangle"],
      { guidanceRange: { min: 1, max: 3 }, guidanceShape: "triangle" },
    ],
    [["--sampler", "heun", "--seed", "9"], { sampler: "heun", seed: 9n }],
    [["--device", "cuda", "--dtype", "fp16"], { device: "cuda", dtype: "float16" }],
    [["--decode-chunk", "2", "--threads", "1"], { decodeChunk: 2, threads: 1 }],
    [["--preview"], { preview: true, image: undefined }],
    [["--preview", "cat.png"], { preview: true, image: "cat.png" }],
    [["--preview=p.png", "cat.png"], { preview: "p.png", image: "cat.png" }],
    [["--json", "-q", "--dry-run"], { json: true, quiet: true, dryRun: true }],
    [["--no-overwrite"], { overwrite: false }],
    [["--no-overwrite", "--overwrite"], { overwrite: true }],
    [["--encoder", "ffmpeg"], { encoder: "ffmpeg" }],
    [["--", "--preview"], { image: "--preview", preview: false }],
  ];
  it.each(table)("reads %j", async (argv, expected) => {
    expect(await settings(...argv)).toMatchObject(expected);
  });

  const mistakes: [string[], string][] = [
    [["--stps", "4"], "[--stps] expected an option of vd-generate, got an unknown one. Did you mean --steps?"],
    [["--colour"], "[--colour] expected an option of vd-generate, got an unknown one. vd-generate --help lists them"],
    [["--steps"], "[--steps] expected a value, as in --steps <N>, got nothing after it"],
    [["-o"], "[--output] expected a value"],
    [["a.png", "b.png"], "[IMAGE] expected one picture, got 2: a.png b.png. Put quotes around a name with spaces"],
    [[""], "[IMAGE] expected a name, got nothing"],
    [["--json=yes"], "vd-generate"],
  ];
  it.each(mistakes)("explains %j", async (argv, words) => {
    await expect(settings(...argv)).rejects.toThrow(expect.objectContaining({ code: "attr" }));
    await expect(settings(...argv)).rejects.toThrow(words);
  });

  it("prints help and version", async () => {
    expect(await parseArguments(["--version"], "1.2.3")).toEqual({ kind: "text", text: "1.2.3\n" });
    const help = await parseArguments(["--help"], "1.2.3");
    expect(help).toMatchObject({ kind: "text", text: expect.stringContaining("--preview[=FILE]") });
  });
});

describe("a config file", () => {
  function configFile(content: unknown): string {
    const path = join(temporaryFolder(), "config.json");
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  it("is read as if typed, and what is typed wins", async () => {
    const path = configFile({
      ...{ image: "cat.png", output: "cat.webm", steps: 20, size: "64x64", guidance: "1:2", preview: true },
      ...{ "noise-aug": 0.05, overwrite: false, json: true, seed: "18446744073709551615" },
    });
    expect(await settings("--config", path, "--steps", "4", "--overwrite")).toMatchObject({
      ...{ image: "cat.png", output: "cat.webm", steps: 4, size: { width: 64, height: 64 }, preview: true },
      ...{
        guidanceRange: { min: 1, max: 2 },
        noiseAugStrength: 0.05,
        overwrite: true,
        json: true,
        seed: 2n ** 64n - 1n,
      },
    });
  });

  const mistakes: [unknown, string][] = [
    [{ stps: 4 }, '[config.json] expected names of options only, got "stps". Did you mean steps?'],
    [{ steps: 0 }, '[config.json: steps] expected a whole number from 1 to 10000, got "0"'],
    [{ steps: true }, "[config.json: steps] expected a text or a number, got true"],
    [{ json: "yes" }, '[config.json: json] expected true or false, got "yes"'],
    [[1], "[config.json] expected one JSON object, got an array"],
    ["{", "[config.json] expected JSON, got"],
  ];
  it.each(mistakes)("explains %j", async (content, words) => {
    await expect(settings("--config", configFile(content))).rejects.toThrow(words);
  });

  it("explains that it is missing", async () => {
    await expect(settings("--config", "/no/such.json")).rejects.toMatchObject({
      code: "io",
      message: "[--config] expected a readable JSON file, got no such file or folder (/no/such.json). Check the name",
    });
  });
});

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { type GenerateOptions, samplerNames } from "@vd/svd-pipeline";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import type { Io } from "../src/io";
import type { ModelLoading } from "../src/model/factory";
import type { ModelSource } from "../src/model/source";
import type { FakeOptions } from "./support/fake-pipeline";
import { FakeProcess, runCommand } from "./support/harness";

describe("a run", () => {
  it("writes the video and ends with a summary, the last of it the absolute path", async () => {
    const output = join(temporaryFolder(), "out.webp");
    const { status, stdout, stderr } = await runCommand(["-o", output, "--seed", "42", "--frames", "3"]);
    expect(status).toBe(0);
    expect(await sharp(output, { animated: true }).metadata()).toMatchObject({ width: 64, pageHeight: 48, pages: 3 });
    const [fileRow, ...rows] = stdout.trimEnd().split("\n").reverse();
    expect(rows.reverse()).toEqual([
      "model   tiny-svd (bundled)",
      "size    3 frames of 64x48 at 7 fps (0.43 s)",
      "steps   4, guidance 1:3",
      "seed    42",
      expect.stringMatching(
        /^time {4}[\d.]+ m?s: load \d+ ms, encode 10 ms, denoise 0\.40 s, decode 90 ms,( write \d+ ms)?$/,
      ),
      ...(rows.length > 6 ? [expect.stringMatching(/^ {8}write \d+ ms$/)] : []),
      "memory  123 MiB",
    ]);
    expect(fileRow).toMatch(/^file {4}\/.*\/out\.webp \([\d.]+ K?i?B\)$/);
    expect(fileRow).toContain(output);
    expect(stderr).toContain("denoise  4/4");
    expect(stderr).not.toContain("Seed");
  });

  it("opens the video, or the folder of its frames, and goes on where nothing can open it", async () => {
    const folder = temporaryFolder();
    const opened: string[] = [];
    const openFile = async (path: string) => void opened.push(path);
    for (const name of ["o.gif", "frames/"])
      await runCommand(["-o", join(folder, name), "--open", "-q"], {}, { openFile });
    expect(opened).toEqual([join(folder, "o.gif"), join(folder, "frames")]);
    const { status, stderr } = await runCommand(["-o", join(folder, "o.gif"), "--open", "-q"]);
    expect(status).toBe(0);
    expect(stderr).toBe(`Warning: ${join(folder, "o.gif")} was not opened: nothing is opened in tests.\n`);
  });

  it("asks before a model is downloaded, and ends without a video after a no", async () => {
    const download = { repo: "a/b", commit: "0", page: "https://hub/a/b", totalBytes: 2 ** 32, missingBytes: 2 ** 31 };
    const asking: FakeOptions = {
      onLoad: (_, { hub }) => hub?.onBeforeDownload?.({ ...download, licence: undefined }),
    };
    const output = join(temporaryFolder(), "o.gif");
    const run = (argv: string[], confirm?: Io["confirm"]) =>
      runCommand(["-m", "a/b", "-o", output, ...argv], asking, { confirm });
    const declined = await run([], async () => false);
    expect(declined).toMatchObject({ status: 130, stdout: "" });
    expect(declined.stderr).toBe(
      "a/b: a download of the missing 2.00 GiB of 4.00 GiB\n  its card names no licence, see https://hub/a/b\n" +
        "Stopped; no video was written.\n",
    );
    expect((await run([], async () => true)).status).toBe(0);
    expect((await run(["--yes"], async () => false)).status).toBe(0);
    const scripted = await run(["--json"], async () => false);
    expect(scripted.events()[0]).toMatchObject({ event: "download", ...download });
    expect(scripted.status).toBe(0);
  });

  it("hands every option to the pipeline, and disposes of it", async () => {
    const seen: { source?: ModelSource; load?: ModelLoading; generate?: GenerateOptions; disposed: number } = {
      disposed: 0,
    };
    const fake = {
      onLoad: (source: ModelSource, load: ModelLoading) => Object.assign(seen, { source, load }),
      onGenerate: (generate: GenerateOptions) => Object.assign(seen, { generate }),
      onDispose: () => seen.disposed++,
    };
    const argv =
      "--model owner/name --frames 2 --steps 3 --size 32x16 --fit contain --focus 50%,30% --fps 9 --motion 80 --noise-aug 0.1 --guidance 1:4 " +
      "--guidance-shape triangle --sampler heun --seed 18446744073709551615 --device cuda --dtype fp16 --threads 3 --decode-chunk 2";
    const output = join(temporaryFolder(), "o.gif");
    expect((await runCommand([...argv.split(" "), "-o", output], fake)).status).toBe(0);
    expect(seen.source).toEqual({ kind: "hub", name: "owner/name", title: "owner/name" });
    expect(seen.load).toMatchObject({ device: "cuda", dtype: "float16", threads: 3 });
    expect(seen.generate).toMatchObject({
      ...{ numFrames: 2, steps: 3, width: 32, height: 16, fps: 9, motionBucketId: 80, noiseAugStrength: 0.1 },
      ...{
        minGuidance: 1,
        maxGuidance: 4,
        guidance: "triangle",
        fit: "contain",
        focus: "50%,30%",
        sampler: "heun",
        seed: 2n ** 64n - 1n,
        decodeChunk: 2,
      },
    });
    expect(seen.generate?.image).toMatchObject({ width: 128, height: 128 });
    expect(seen.disposed).toBe(1);
  });

  it("draws a seed and prints how to use it again", async () => {
    const folder = temporaryFolder();
    const first = await runCommand(["-o", join(folder, "a.gif")]);
    const seed = /^Seed (\d+); --seed \1 makes this video again\.$/m.exec(first.stderr)![1]!;
    await runCommand(["-o", join(folder, "b.gif"), "--seed", seed]);
    expect(readFileSync(join(folder, "a.gif")).equals(readFileSync(join(folder, "b.gif")))).toBe(true);
    const other = await runCommand(["-o", join(folder, "a.gif")]);
    expect(other.stderr).not.toContain(`Seed ${seed};`);
  });

  it("warns of a picture that the bundled model does not know, and takes its shape when asked to", async () => {
    const folder = temporaryFolder();
    const photo = join(folder, "photo.jpg");
    await sharp({ create: { width: 90, height: 180, channels: 3, background: "#345" } }).toFile(photo);
    const { stderr, status } = await runCommand([photo, "-o", join(folder, "o.gif"), "--size", "auto"], {
      reconstructionSnr: 5,
    });
    expect(status).toBe(0);
    expect(stderr).toContain(
      "Warning: the bundled model knows only its own little world of balls, hills and pinwheels",
    );
    expect(stderr).toContain("--model stabilityai/stable-video-diffusion-img2vid");
    expect(await sharp(join(folder, "o.gif")).metadata()).toMatchObject({ width: 32, height: 64 });
    const named = await runCommand([photo, "-o", join(folder, "o.gif"), "--model", "owner/name"]);
    expect(named.stderr).not.toContain("Warning");
  });

  it("is silent when asked to be", async () => {
    const output = join(temporaryFolder(), "o.gif");
    expect(await runCommand(["-o", output, "-q"])).toMatchObject({ status: 0, stdout: "", stderr: "" });
  });

  it("keeps a preview up to date", async () => {
    const folder = temporaryFolder();
    const { stderr } = await runCommand(["-o", join(folder, "o.gif"), "--preview"], { stepMs: 60 });
    expect(readdirSync(folder)).toEqual(["o.gif", "o.preview.webp"]);
    expect(stderr).toContain(`preview  ${join(folder, "o.preview.webp")} (step 1)`);
  });

  it("works on when a preview fails", async () => {
    const folder = temporaryFolder();
    const preview = join(folder, "p.png");
    const onLoad = () => void mkdirSync(preview);
    const { status, stderr } = await runCommand(["-o", join(folder, "o.gif"), `--preview=${preview}`], { onLoad });
    expect(status).toBe(0);
    expect(
      stderr.match(/Warning: no more previews: \[--preview\] expected a file name, got the name of a folder/g),
    ).toHaveLength(1);
  });
});

describe("--json", () => {
  it("writes events only, one a line, and nothing else", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "o.webp");
    const outcome = await runCommand(["--json", "-o", output, "--seed", "18446744073709551615", "--preview"]);
    const events = outcome.events();
    expect(outcome.stderr).toBe("");
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(["progress", "start", "preview", "done"]));
    const steps = events.filter(({ stage }) => stage === "denoise").map(({ step, steps }) => `${step}/${steps}`);
    expect(steps).toEqual(["1/4", "2/4", "3/4", "4/4"]);
    expect(events.at(-1)).toMatchObject({
      ...{ event: "done", output, format: "webp", encoder: "sharp", numFrames: 5, width: 64, height: 48, fps: 7 },
      ...{ seed: "18446744073709551615", fileBytes: readFileSync(output).length, peakRssBytes: 123 * 2 ** 20 },
      timings: {
        encode: 10_000,
        denoise: 400_000,
        decode: 90_000,
        load: expect.any(Number),
        write: expect.any(Number),
      },
    });
  });

  it("also tells errors so", async () => {
    const outcome = await runCommand(["--json", "--size", "10x10"]);
    expect(outcome.status).toBe(2);
    expect(outcome.events()).toEqual([
      {
        ...{ event: "error", code: "attr", where: "--size", expected: "a width and a height that are multiples of 8" },
        ...{
          got: '"10x10"',
          hint: "The nearest size is 8x8",
          exitCode: 2,
          message: expect.stringContaining("[--size]"),
        },
      },
    ]);
    expect(outcome.stderr).toContain("Error: [--size]");
  });
});

describe("--dry-run", () => {
  it("prints the plan and makes nothing", async () => {
    const folder = temporaryFolder();
    const { status, stdout, stderr } = await runCommand([
      "--dry-run",
      "-o",
      join(folder, "o.mp4"),
      "--steps",
      "25",
      "-q",
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.split("\n").slice(4).join("\n")).toMatchInlineSnapshot(`
      "stage    rows  runs  peak memory        work     moved  estimate
      denoise   812    25     90.0 MiB  22.2 GFLOP  1.12 GiB    5.00 s
      decode    301     1      140 MiB   204 GFLOP  2.79 GiB    1.70 s
      total                    140 MiB   759 GFLOP              6.70 s
      weights 20.0 MiB
      "
    `);
    expect(stdout).toContain("o.mp4: 5 frames of 64x48 at 7 fps, 25 steps, guidance 1:3\n");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is one event as JSON", async () => {
    const [, plan, ...rest] = (await runCommand(["--dry-run", "--json"])).events();
    expect(rest).toEqual([]);
    expect(plan).toMatchObject({
      event: "plan",
      output: "out.mp4",
      steps: 4,
      weightBytes: 20_955_856,
      peakBytes: 140 * 2 ** 20,
    });
  });
});

describe("mistakes", () => {
  const folder = "/no/such/folder";
  const table: [argv: string, status: number, words: string][] = [
    ["--stps 3", 2, "Error: [--stps] expected an option of vd-generate, got an unknown one. Did you mean --steps?"],
    ["--frames 0", 2, 'Error: [--frames] expected a whole number from 1 to 4096, got "0".'],
    [
      "--sampler eular",
      2,
      `Error: [--sampler] expected one of ${samplerNames.join(", ")}, got "eular". The nearest name is euler.`,
    ],
    [
      "-o x.webp --size 16384x64",
      1,
      "Error: [--output] expected sides of at most 16383 pixels, which is what .webp files store, got 16384x64. Make a",
    ],
    [
      "-o x.avi",
      2,
      'Error: [--output] expected a file name that ends in .mp4, .webm, .gif, .webp or .png, got ".avi". Name a file such as x.mp4, or end the name with / for a folder of PNG frames.',
    ],
    [
      "--preview=x.jpg",
      2,
      'Error: [--preview] expected a file name that ends in .webp, .gif, .png, got "x.jpg". The picture',
    ],
    [
      `-o ${folder}/x.mp4`,
      1,
      `Error: [--output] expected a folder that exists, got none named ${folder}. Make it first: mkdir -p "${folder}".`,
    ],
    [
      "-o x.webm --encoder ffmpeg",
      1,
      "Error: [--encoder] expected an ffmpeg with libvpx-vp9 on the PATH, which .webm needs here, got none that starts. Install ffmpeg",
    ],
    ["--fit squeeze", 2, 'Error: [--fit] expected one of cover, contain, stretch, got "squeeze".'],
    ["--focus 50,30", 2, 'Error: [--focus] expected a point such as 50%,30%, top, bottom-left or center, got "50,30".'],
    ["--focus 150%,0%", 2, "Error: [--focus] expected a point such as"],
    ["-o x.mp4 --encoder ffmpeg", 1, "Error: [--encoder] expected an ffmpeg with libx264 on the PATH"],
    ["no.png", 1, "Error: [IMAGE] expected a picture file, got no such file or folder (no.png). Check the path."],
    [
      "--model nothing",
      1,
      'Error: [--model] expected a model folder, a .safetensors file or a hub id (owner/name), got "nothing".',
    ],
    ["--config no.json", 1, "Error: [--config] expected a readable JSON file, got no such file or folder (no.json)."],
  ];
  it.each(table)("%s ends with status %i before a model is loaded", async (argv, status, words) => {
    const onLoad = () => {
      throw new Error("loaded");
    };
    const outcome = await runCommand(argv.split(" "), { onLoad });
    expect(outcome.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(outcome.stderr).toContain(words);
    expect(outcome).toMatchObject({ status, stdout: "" });
  });

  it("of the model's are told in its own words, with status 1, and leave nothing", async () => {
    const folder = temporaryFolder();
    const failure = new VdError({ code: "attr", where: "conv_in", expected: "a", got: "b" });
    const outcome = await runCommand(["-o", join(folder, "o.gif"), "-q"], { failure });
    expect(outcome).toMatchObject({ status: 1, stdout: "", stderr: "Error: [conv_in] expected a, got b.\n" });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("names a flag once that stands for two options, also where something is not supported", async () => {
    const failure = new VdError({
      ...{ code: "unsupported", where: "guidanceMinSigma", expected: "a video of one clip", got: "another" },
      hint: "Leave out guidanceMinSigma and guidanceMaxSigma.",
    });
    const { stderr } = await runCommand(["-o", join(temporaryFolder(), "o.gif"), "-q"], { failure });
    expect(stderr).toContain("[--guidance-at] expected a video of one clip, got another. Leave out --guidance-at.");
  });

  it("of the model's name flags, as the command line has them", async () => {
    const hint = 'Use the CPU: device "cpu".';
    const unusable = new VdError({ code: "unsupported", where: "device", expected: "a GPU", got: "none", hint });
    const wrong = new VdError({ code: "attr", where: "numFrames", expected: "fewer", got: "9", hint: 'Import "it".' });
    const large = { code: "memory", where: "decode", expected: "1 GB", got: "2 GB" } as const;
    const messages = async (failure: VdError) =>
      (await runCommand(["-o", join(temporaryFolder(), "o.gif"), "-q"], { failure })).stderr;
    expect(await messages(unusable)).toBe("Error: [device] expected a GPU, got none. Use the CPU: --device cpu.\n");
    expect(await messages(new VdError({ ...large, hint: "Use a smaller decodeChunk or fewer frames." }))).toBe(
      "Error: [decode] expected 1 GB, got 2 GB. Use a smaller --decode-chunk or fewer frames.\n",
    );
    expect(await messages(wrong)).toBe('Error: [--frames] expected fewer, got 9. Import "it".\n');
  });

  it("of ours come with a stack", async () => {
    const outcome = await runCommand(["-o", join(temporaryFolder(), "o.gif"), "-q"], {
      failure: new TypeError("oops"),
    });
    expect(outcome.status).toBe(1);
    expect(outcome.stderr).toContain("failed by a mistake of its own. Please report this:\nTypeError: oops\n    at ");
  });

  it("--no-overwrite keeps what is there", async () => {
    const output = join(temporaryFolder(), "o.gif");
    writeFileSync(output, "mine");
    const outcome = await runCommand(["-o", output, "--no-overwrite"]);
    expect(outcome.status).toBe(1);
    expect(outcome.stderr).toContain("Choose another name or leave out --no-overwrite.");
    expect(readFileSync(output, "utf8")).toBe("mine");
  });
});

describe("signals", () => {
  it("stop a run within a step, leave nothing, and listen no more", async () => {
    const folder = temporaryFolder();
    const signals = new FakeProcess();
    const onGenerate = () => void setTimeout(() => signals.emit("SIGINT"), 30);
    const argv = ["-o", join(folder, "o.gif"), "--steps", "1000"];
    const outcome = await runCommand(argv, { stepMs: 5, onGenerate }, { signals });
    expect(outcome).toMatchObject({ status: 130, stdout: "" });
    expect(outcome.stderr).toContain("Stopping after this step. Ctrl-C once more stops at once.\n");
    expect(outcome.stderr).toMatch(/Stopped; no video was written\.\n$/);
    expect(readdirSync(folder)).toEqual([]);
    expect(signals.eventNames()).toEqual([]);
    expect(signals.exitCode).toBeUndefined();
  });

  it("make a second Ctrl-C exit at once", async () => {
    const signals = new FakeProcess();
    const onGenerate = () => void setTimeout(() => signals.emit("SIGTERM") && signals.emit("SIGINT"), 5);
    await runCommand(["-o", join(temporaryFolder(), "o.gif")], { stepMs: 20, onGenerate }, { signals });
    expect(signals.exitCode).toBe(130);
  });

  it("end JSON with one event", async () => {
    const signals = new FakeProcess();
    const onGenerate = () => void setTimeout(() => signals.emit("SIGTERM"), 5);
    const argv = ["--json", "-o", join(temporaryFolder(), "o.gif")];
    const outcome = await runCommand(argv, { stepMs: 20, onGenerate }, { signals });
    expect(outcome.events().at(-1)).toEqual({ event: "cancelled", exitCode: 130 });
  });
});

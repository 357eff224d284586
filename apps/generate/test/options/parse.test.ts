import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { parseArguments } from "../../src/options/parse";
import type { Settings } from "../../src/settings";

async function settings(...argv: string[]): Promise<Settings> {
  const parsed = await parseArguments(argv, { version: "1.2.3" });
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
  open: false,
  yes: false,
};

describe("parseArguments", () => {
  it("has defaults for what is not the model's business", async () => {
    expect(await settings()).toMatchObject(nothingSaid);
    expect(await settings()).toMatchObject({ generate: {}, load: {} });
  });

  const table: [string[], Partial<Settings>][] = [
    [["cat.png"], { image: "cat.png" }],
    [["-o", "x.gif", "cat.png"], { image: "cat.png", output: "x.gif" }],
    [["--output=x.webp"], { output: "x.webp" }],
    [["-m", "owner/name"], { model: "owner/name" }],
    [["--frames", "8", "--steps", "4"], { generate: { numFrames: 8, steps: 4 } }],
    [["--steps", "4", "--steps", "5"], { generate: { steps: 5 } }],
    [["--size", "64x48"], { generate: { width: 64, height: 48 } }],
    [
      ["--fps", "240", "--motion", "90", "--noise-aug", "0.1"],
      { generate: { fps: 240, motionBucketId: 90, noiseAugStrength: 0.1 } },
    ],
    [
      ["--guidance", "1:3", "--guidance-shape", "triangle"],
      { generate: { minGuidance: 1, maxGuidance: 3, guidance: "triangle" } },
    ],
    [["--sampler", "heun", "--seed", "9"], { generate: { sampler: "heun", seed: 9n } }],
    [["--device", "cuda", "--dtype", "fp16"], { load: { device: "cuda", dtype: "float16" } }],
    [["--decode-chunk", "2", "--threads", "1"], { generate: { decodeChunk: 2 }, load: { threads: 1 } }],
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
    [[""], "[IMAGE] expected a name, got nothing"],
    [["--json=yes"], "vd-generate"],
    [["--fps", "241"], '[--fps] expected a whole number from 1 to 240, got "241"'],
    [["--size", "16392x8"], '[--size] expected sides of at most 16384 pixels, got "16392x8"'],
  ];
  it.each(mistakes)("explains %j", async (argv, words) => {
    await expect(settings(...argv)).rejects.toThrow(expect.objectContaining({ code: "attr" }));
    await expect(settings(...argv)).rejects.toThrow(words);
  });

  it("prints the version", async () => {
    expect(await parseArguments(["--version"], { version: "1.2.3" })).toEqual({ kind: "text", text: "1.2.3\n" });
  });

  it("prints every option with its values and its default", async () => {
    const help = await parseArguments(["--help"], { version: "1.2.3" });
    // Whatever samplers there are: a new one changes no test.
    const text =
      help.kind === "text" ? help.text.replace(/(one of )euler,[\w,\s]*(?= \(the|\s+\(the)/, "$1SAMPLERS") : "";
    expect(text).toMatchInlineSnapshot(`
      "Usage: vd-generate [options] [IMAGE...]

      A picture in, a video out: Stable Video Diffusion on this machine.

      Arguments:
        IMAGE                     the picture to animate; several, or patterns such as
                                  '*.png', make a video each; - is standard input (a
                                  sample of the bundled model)

      Options:
        -V, --version             show the version
        -h, --help                show this help

      Run:
        --watch <DIR>             makes a video of each picture that comes into a
                                  folder, until Ctrl-C
        --last <IMAGE>            the picture that the video ends with
        --extend <VIDEO>          a video to go on from, instead of a picture: the
                                  result is the video and then --frames of which the
                                  first is its last one
        --duration <TIME>         how long the generated video is, instead of
                                  --frames: 4s, 2.5s, 800ms
        -m, --model <MODEL>       a model folder, one FILE.safetensors, or a model of
                                  the Hub: owner/name, hf:owner/name,
                                  https://huggingface.co/owner/name (the bundled
                                  tiny-svd)
        --lora <FILE:WEIGHT>      a LoRA and how much of it, style.safetensors:0.8;
                                  several by commas, or by the option again
        --config <FILE>           reads options from a JSON file; what is typed wins
        --repeat <VIDEO>          makes a video again: takes all settings, with the
                                  seed, out of the file that an earlier run has
                                  written
        --dry-run                 prints sizes, peak memory, work and a time estimate;
                                  makes nothing
        --resume[=FOLDER]         goes on after a crash: keeps a state in
                                  OUTPUT.resume or FOLDER
        --profile <FILE>          where the time goes, as a file: .html, .txt, .json,
                                  or .trace for Perfetto
        -y, --yes                 downloads a model without asking; licence and size
                                  are shown all the same
        --json                    one JSON object per line on standard output, nothing
                                  else there
        -q, --quiet               no progress, no summary; warnings and errors only

      Video:
        --size <WxH>              frame size in pixels, both sides multiples of 8;
                                  auto takes the picture's shape (the model's own)
        --fit <HOW>               how the picture comes into the frames' shape: cover
                                  cuts it, contain adds black bars, stretch distorts
                                  it, as diffusers does (cover)
        --focus <POINT>           the point that stays nearest to the middle when
                                  cover cuts: 50%,30% from the left and from above, or
                                  top, bottom, left, right, top-left and so on
                                  (center)
        --frames <N>              number of frames (the model's own)
        --clip-frames <N>         frames that are denoised at a time, at most (the
                                  model's own)
        --overlap <N>             frames that a clip takes over from the one before,
                                  unchanged: more hold motion and colours better and
                                  cost more clips (4)
        --hold-colours <X>        how much of the drift of colours is taken back where
                                  clips follow each other: 0 leaves all of it (1)
        --loop                    makes a video whose last frame leads to its first
        --boomerang               shows the frames there and back, so that the video
                                  loops: 2 · numFrames − 2 of them
        --interpolate <HOW>       what makes a frame between every two, for twice as
                                  many a second: blend takes the mean of their pixels,
                                  latent the mean of their latents, denoise has the
                                  model make it, knowing both; one of none, blend,
                                  latent, denoise (none)
        --steps <N>               number of denoising steps (25, for small models such
                                  as tiny-svd 10, for distilled ones 4)
        --fps <N>                 frames per second, told to the model and to the file
                                  (7)
        --motion <N>              how much moves; 1 to 255 is what models were trained
                                  with (127)
        --noise-aug <X>           noise added to the picture before it is encoded;
                                  more means freer motion (0.02)
        --guidance <MIN:MAX>      guidance scale over the frames; 1:1 turns guidance
                                  off and halves the work of a step (1:3, for small
                                  models such as tiny-svd 1:2, for distilled ones 1:1)
        --guidance-shape <SHAPE>  how guidance runs over the frames: linear from the
                                  least to the most, triangle to the most and back
                                  (linear)
        --guidance-at <LOW:HIGH>  noise levels between which guidance applies; at
                                  others a step costs half (all)
        --feature-interval <N>    calls of the denoiser from one that computes its
                                  inner blocks to the next; 1 for every call (1)
        --skip-threshold <X>      skips calls of the denoiser until its input has
                                  changed by this part of itself; 0 skips none (0)
        --fast                    saves work where little of it is seen
        --sampler <NAME>          method of the denoising steps; one of SAMPLERS (the model's own)
        --seed <N>                decides the noise: the same seed gives the same bits
                                  (random)
        --step-noise <GENERATOR>  which of torch's generators gives the noise that
                                  samplers add between steps: the CPU's, drawn on the
                                  host, or that of a GPU, drawn on the device within
                                  the step; one of cpu, cuda (cpu)
        --memory <USE>            how much of a GPU's memory is used: at most 10 GiB
                                  with full, 6 GiB with low, which keeps only the
                                  weights of the stage that runs, 4 GiB with lowest,
                                  which streams weights from page-locked memory of the
                                  machine ahead of their use, and keeps them there for
                                  the next generation if there is room (full)
        --decode-chunk <N>        frames that are decoded at a time: fewer take less
                                  memory, and the frames are the same (as many as the
                                  device's memory allows)

      Device:
        --device <NAME>           what computes: cpu, cuda for an NVIDIA GPU, cuda:1
                                  for the second of several, or auto for a GPU if one
                                  can be used, else the CPU (cpu)
        --devices <LIST>          several devices that share each generation: GPUs by
                                  number (0, 1) or name (cuda:0), or cpu several
                                  times, which divides the threads (one device)
        --dtype <NAME>            element type of weights and activations; one of
                                  float32, float16, bfloat16 (float16 on a GPU,
                                  float32 on the CPU)
        --precision <NAME>        which layers of the UNet are computed in 8 bits:
                                  full none, fp8 in floats, int8 in integers, mixed8
                                  each in the type that suits it (full)
        --calibration <FILE>      what precision knows of the layers' inputs: a table
                                  that vd-generate calibrate made of this model, or
                                  none (calibration.json beside the model, where there
                                  is one)
        --convolutions <NAME>     how 3x3 convolutions of many channels are computed
                                  on a GPU in float16: direct, or with winograd's
                                  transforms, which take less time and more memory
                                  while they are used; one of auto, direct, winograd
                                  (auto)
        --threads <N>             CPU threads (VD_THREADS, or all cores)
        --cpu-math <NAME>         how exactly the CPU multiplies in linear layers,
                                  convolutions and attention: exact as float32 has it,
                                  fast with three products of bfloat16 parts, bf16
                                  with one (exact)
        --unet <PATH>             another UNet in place of the model's own, such as
                                  AnimateLCM-SVD-xt.safetensors (the model's own)
        --distilled               whether the model is distilled for few steps without
                                  guidance (yes for a scheduler of such models, or
                                  where a name says lcm or tcd)
        --no-distilled            treats the model as one of many steps, whatever it
                                  is named

      Output:
        -o, --output <FILE>       where the video goes: .mp4, .webm, .gif, .webp,
                                  frame-%03d.png, or a folder/ for PNG frames; {name}
                                  stands for the picture's name, - for standard output
                                  (MP4, or as in -.gif) (out.mp4)
        --overwrite               replaces the output if it is there (default)
        --no-overwrite            stops, before any work, if the output is there
        --metadata                keeps the seed and all settings in the file, for
                                  --repeat (default)
        --no-metadata             leaves the seed and the settings out of the file
        --open                    opens the video when it is done, with the program
                                  that the desktop has for it
        --encoder <NAME>          what makes .mp4 and .webm files: builtin, ffmpeg
                                  (must be on the PATH) or auto, which is builtin
                                  (auto)
        --preview[=FILE]          keeps a preview picture up to date while it works:
                                  OUTPUT.preview.webp, or a FILE that ends in .webp,
                                  .gif or .png

      Commands:
        calibrate     makes the table with which --precision is faster and nearer to the exact frames
        models list   lists the models on this machine, with their size on the disk
        models pull   downloads a model of the Hub, or the rest of it, into the cache
        models rm     deletes a model from the cache
        completion    prints the script with which a shell completes command lines

      Examples:
        vd-generate
            the bundled model, its picture, out.mp4
        vd-generate cat.png -o cat.gif --seed 7
            a picture of yours as an animation, the same each time
        vd-generate cat.png -m hf:stabilityai/stable-video-diffusion-img2vid --dry-run
            what a model of the Hub would take; nothing is made
        vd-generate models list
            which models are on this machine

      Exit status: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
      A config file holds the same names without dashes: { "image": "cat.png", "steps": 20 }.

      "
    `);
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
      $schema: "schema/config.schema.json",
      ...{ image: "cat.png", output: "cat.webm", steps: 20, size: "64x64", guidance: "1:2", preview: true },
      ...{ "noise-aug": 0.05, overwrite: false, json: true, seed: "18446744073709551615" },
    });
    expect(await settings("--config", path, "--steps", "4", "--overwrite")).toMatchObject({
      ...{ image: "cat.png", output: "cat.webm", preview: true, overwrite: true, json: true },
      generate: {
        ...{ steps: 4, width: 64, height: 64, minGuidance: 1, maxGuidance: 2 },
        ...{ noiseAugStrength: 0.05, seed: 2n ** 64n - 1n },
      },
    });
  });

  const mistakes: [unknown, string][] = [
    [{ stps: 4 }, '[config.json] expected names of options only, got "stps". Did you mean steps?'],
    [{ steps: 0 }, '[config.json: steps] expected a whole number from 1 to 10000, got "0"'],
    [{ steps: true }, "[config.json: steps] expected a text or a number, got true"],
    [{ config: "other.json" }, '[config.json] expected names of options only, got "config".'],
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
      message: "[--config] expected a readable JSON file, got no such file or folder (/no/such.json). Check the path.",
    });
  });
});

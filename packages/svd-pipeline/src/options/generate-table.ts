import { FITS, FOCUS_PATTERN } from "@vd/media";
import { findSampler, guidanceShapes, MAX_STEPS, samplerNames } from "@vd/sampling";
import { INTERPOLATIONS, MEMORY_USES, OUTPUT_TYPES, STEP_NOISES } from "./choices";
import { rangeForm, sizeForm } from "./cli-forms";
import { FAST_TEXT } from "./fast";
import { boolean, callback, choice, integer, numbers, object, real, seed, side, text } from "./kinds";
import { always, found, type ModelFacts, type OptionGroup, type OptionTable, perModel } from "./option";
import { PROGRESS, SIGNAL } from "./shared-rows";

/** A clip as long as this takes more memory than machines have. */
const MAX_FRAMES = 4096;
/** Shorter clips would have no room for frames of the clips on both sides and one between. */
const LEAST_CLIP = 3;
/** A side as long as this takes more memory than machines have; formats of files have limits of their own. */
const SIDE = side(16_384);
const GUIDANCE = real(0, 1000);

/** Frames a second that Stable Video Diffusion is told where nobody says otherwise. */
export const USUAL_FPS = 7;

/** Sizes that Stable Video Diffusion's own checkpoints were trained for. */
const FULL_SIZE = { width: 1024, height: 576 };
/** A model for pictures this small is a demonstration: it is run at its own size, in the 10 steps and with the guidance
 *  of 1 to 2 that tiny-svd's card recommends; at 3, the published models' default, it overshoots. */
const SMALL_SAMPLE = 256;

const isSmall = ({ sampleSize }: ModelFacts) => sampleSize !== undefined && sampleSize <= SMALL_SAMPLE;
const smallSide = ({ sampleSize, factor }: ModelFacts) => factor * Math.max(1, Math.floor((sampleSize ?? 0) / factor));

const SIZE_FORM = sizeForm(
  "--size <WxH>",
  SIDE,
  "Frame size in pixels, both sides multiples of 8; auto takes the picture's shape.",
  "the model's own",
);
const GUIDANCE_FORM = rangeForm(
  "--guidance <MIN:MAX>",
  GUIDANCE,
  "Guidance scale over the frames; 1:1 turns guidance off and halves the work of a step.",
  "1:3, for small models such as tiny-svd 1:2, for distilled ones 1:1",
);

/** The noise levels of all published models, and more. */
const SIGMA = real(0, 1e6);
const INTERVAL_FORM = rangeForm(
  "--guidance-at <LOW:HIGH>",
  SIGMA,
  "Noise levels between which guidance applies; at others a step costs half.",
  "all",
);

/** Everything that can be said about one generation, in the order of documentation and help. */
export const GENERATE_TABLE = {
  image: {
    kind: object({
      ...{ type: "PictureSource | FloatImage", imports: ["PictureSource", "FloatImage"] },
      expected: "a picture",
      // What cannot be read as a picture is refused, with its reason, when it is read.
      is: () => true,
    }),
    doc: "The picture to animate: a path or an `https:`, `file:` or `data:` address, a picture file's bytes (Buffer, ArrayBuffer, Blob), a stream of them, an object of the library sharp, or pixels: bytes [H,W,3], or floats [3,H,W] from 0 to 1, which are brought to the size by their nearest pixels, as diffusers does with tensors.",
    required: true,
  },
  width: {
    kind: SIDE,
    unit: "pixels",
    doc: "Width of the frames.",
    default: perModel((facts) => (isSmall(facts) ? smallSide(facts) : FULL_SIZE.width), "the model's own"),
    cli: SIZE_FORM,
  },
  height: {
    kind: SIDE,
    unit: "pixels",
    doc: "Height of the frames.",
    default: perModel((facts) => (isSmall(facts) ? smallSide(facts) : FULL_SIZE.height), "the model's own"),
    cli: SIZE_FORM,
  },
  autoSize: {
    kind: boolean,
    doc: "Takes the size from the picture's shape: the nearest that suits the model, with about as many pixels as `width` and `height`.",
    default: always(false),
  },
  fit: {
    kind: choice(FITS, "PictureFit"),
    doc: "How the picture comes into the frames' shape: `cover` cuts it, `contain` adds black bars, `stretch` distorts it, as diffusers does.",
    default: always(FITS[0]),
    cli: { flags: "--fit <HOW>" },
  },
  focus: {
    kind: text("a point such as 50%,30%, top, bottom-left or center", FOCUS_PATTERN),
    doc: "The point that stays nearest to the middle when `cover` cuts: `50%,30%` from the left and from above, or top, bottom, left, right, top-left and so on.",
    default: always("center"),
    cli: { flags: "--focus <POINT>" },
  },
  numFrames: {
    kind: integer(1, MAX_FRAMES),
    doc: "Number of frames. More than `clipFrames` are made clip by clip, each going on from the last frames of the one before.",
    default: perModel(({ numFrames }) => numFrames, "the model's own"),
    cli: { flags: "--frames <N>" },
  },
  clipFrames: {
    kind: integer(LEAST_CLIP, MAX_FRAMES),
    doc: "Frames that are denoised at a time, at most. From `numFrames` on all of them are, whatever the model was trained for, as diffusers does.",
    default: perModel(({ numFrames }) => numFrames, "the model's own"),
    cli: { flags: "--clip-frames <N>" },
  },
  overlap: {
    kind: integer(1, MAX_FRAMES),
    unit: "frames",
    doc: "Frames that a clip takes over from the one before, unchanged: more hold motion and colours better and cost more clips.",
    default: always(4),
    cli: { flags: "--overlap <N>" },
  },
  holdColours: {
    kind: real(0, 1),
    doc: "How much of the drift of colours is taken back where clips follow each other: 0 leaves all of it.",
    default: always(1),
    cli: { flags: "--hold-colours <X>" },
  },
  pastFrames: {
    kind: object({
      ...{ type: "readonly (PictureSource | FloatImage)[]", imports: ["PictureSource", "FloatImage"] },
      ...{
        expected: `a list of at most ${MAX_FRAMES} pictures`,
        is: (value) => Array.isArray(value) && value.length < MAX_FRAMES,
      },
    }),
    doc: "Frames that come before the picture, the oldest first: the video goes on from their motion. As many as `overlap` less one are of use.",
  },
  lastImage: {
    kind: object({
      ...{ type: "PictureSource | FloatImage", imports: ["PictureSource", "FloatImage"] },
      ...{ expected: "a picture", is: () => true },
    }),
    doc: "The picture that the video ends with.",
  },
  loop: {
    kind: boolean,
    doc: "Makes a video whose last frame leads to its first.",
    default: always(false),
    cli: { flags: "--loop" },
  },
  boomerang: {
    kind: boolean,
    doc: "Shows the frames there and back, so that the video loops: 2 · `numFrames` − 2 of them.",
    default: always(false),
    cli: { flags: "--boomerang" },
  },
  interpolation: {
    kind: choice(INTERPOLATIONS, "Interpolation"),
    doc: "What makes a frame between every two, for twice as many a second: `blend` takes the mean of their pixels, `latent` the mean of their latents, `denoise` has the model make it, knowing both.",
    default: always(INTERPOLATIONS[0]),
    cli: { flags: "--interpolate <HOW>" },
  },
  steps: {
    kind: integer(1, MAX_STEPS),
    doc: "Number of denoising steps. Where `sigmas` are given and `steps` are not, the sigmas decide.",
    default: perModel(
      (facts) => (facts.distilled ? 4 : isSmall(facts) ? 10 : 25),
      "25, for small models such as tiny-svd 10, for distilled ones 4",
    ),
    cli: { flags: "--steps <N>" },
  },
  fps: {
    kind: integer(1, 240),
    unit: "frames per second",
    doc: "Frames per second, told to the model and to the file.",
    default: perModel(() => USUAL_FPS, String(USUAL_FPS)),
    cli: { flags: "--fps <N>" },
  },
  motionBucketId: {
    kind: real(0, 1000),
    doc: "How much moves; 1 to 255 is what models were trained with.",
    default: perModel(() => 127, "127"),
    cli: { flags: "--motion <N>" },
  },
  noiseAugStrength: {
    kind: real(0, 100),
    doc: "Noise added to the picture before it is encoded; more means freer motion.",
    default: perModel(() => 0.02, "0.02"),
    cli: { flags: "--noise-aug <X>" },
  },
  minGuidance: {
    kind: GUIDANCE,
    doc: "Guidance scale of the first frame.",
    default: perModel(() => 1, "1"),
    cli: GUIDANCE_FORM,
  },
  maxGuidance: {
    kind: GUIDANCE,
    doc: "Guidance scale of the last frame, or of the middle one of a triangle. At 1 or less there is no guidance, and a step costs half.",
    default: perModel(
      (facts) => (facts.distilled ? 1 : isSmall(facts) ? 2 : 3),
      "3, for small models such as tiny-svd 2, for distilled ones 1",
    ),
    cli: GUIDANCE_FORM,
  },
  guidance: {
    kind: choice(guidanceShapes, "GuidanceShape"),
    doc: "How guidance runs over the frames: `linear` from the least to the most, `triangle` to the most and back.",
    default: always(guidanceShapes[0]),
    cli: { flags: "--guidance-shape <SHAPE>" },
  },
  guidanceMinSigma: {
    kind: SIGMA,
    doc: "Noise level below which there is no guidance: those calls of the denoiser cost half.",
    default: found("guidance at all noise levels"),
    cli: INTERVAL_FORM,
  },
  guidanceMaxSigma: {
    kind: SIGMA,
    doc: "Noise level above which there is no guidance: those calls of the denoiser cost half.",
    default: found("guidance at all noise levels"),
    cli: INTERVAL_FORM,
  },
  featureInterval: {
    kind: integer(1, MAX_STEPS),
    unit: "calls",
    doc: "Calls of the denoiser from one that computes its inner blocks to the next; 1 for every call. The others reuse what those blocks gave, as DeepCache does.",
    default: always(1),
    cli: { flags: "--feature-interval <N>" },
  },
  skipThreshold: {
    kind: real(0, 100),
    doc: "Skips calls of the denoiser until its input has changed by this part of itself; 0 skips none. The changes are measured and added up from the last call on, as TeaCache does; meanwhile steps use the last data prediction. The same generation skips the same calls.",
    default: always(0),
    cli: { flags: "--skip-threshold <X>" },
  },
  fast: {
    kind: boolean,
    doc: `Saves work where little of it is seen. Sets ${FAST_TEXT}, where those options are not given.`,
    default: always(false),
    cli: { flags: "--fast" },
  },
  sampler: {
    kind: choice(
      samplerNames,
      "SamplerName | SchedulerClassName",
      samplerNames.map((name) => findSampler(name).className),
    ),
    doc: "Method of the denoising steps. The class names of diffusers are taken too.",
    default: found("the model's own"),
    cli: { flags: "--sampler <NAME>" },
  },
  sigmas: {
    kind: numbers("the noise levels"),
    doc: "Noise levels instead of the model's, falling, ending in 0.",
  },
  seed: {
    kind: seed,
    doc: "Decides the noise: the same seed gives the same bits.",
    default: found("random"),
    cli: { flags: "--seed <N>" },
  },
  stepNoise: {
    kind: choice(STEP_NOISES, "StepNoise"),
    doc: "Which of torch's generators gives the noise that samplers add between steps: the CPU's, drawn on the host, or that of a GPU, drawn on the device within the step. The first latents come from the CPU's.",
    default: always("cpu"),
    cli: { flags: "--step-noise <GENERATOR>" },
  },
  latents: {
    kind: object({
      ...{ type: "Float32Array", expected: "a Float32Array of unit noise" },
      is: (value) => value instanceof Float32Array,
    }),
    doc: "The first latents instead of ones that the seed draws: unit noise [F,C,H/8,W/8], which is multiplied by the first noise level.",
    default: found("drawn from the seed"),
  },
  outputType: {
    kind: choice(OUTPUT_TYPES, "OutputType"),
    doc: "What is made: `video`, or `latent` for the clean latents alone, without decoding them.",
    default: always(OUTPUT_TYPES[0]),
  },
  memory: {
    kind: choice(MEMORY_USES, "MemoryUse"),
    doc: "How much of a GPU's memory is used: at most 10 GiB with `full`, 6 GiB with `low`, which keeps only the weights of the stage that runs, 4 GiB with `lowest`, which streams weights from page-locked memory of the machine ahead of their use, and keeps them there for the next generation if there is room. The less, the longer it takes; the frames are the same. On the CPU `lowest` takes the least memory that there is.",
    default: always(MEMORY_USES[0]),
    cli: { flags: "--memory <USE>" },
  },
  decodeChunk: {
    kind: integer(1, MAX_FRAMES),
    unit: "frames",
    doc: "Frames that are decoded at a time: fewer take less memory, and the frames are the same.",
    default: found("as many as the device's memory allows"),
    cli: { flags: "--decode-chunk <N>" },
  },
  isolateDecodeChunks: {
    kind: boolean,
    doc: "Decodes each chunk as a clip of its own, so that frames on both sides of a border do not see each other: what diffusers' decode_chunk_size does.",
    default: always(false),
  },
  resume: {
    kind: text("the path of a folder"),
    doc: "A folder for the state of this generation, made if it is not there: after each step latents, what the sampler remembers and the random numbers' state are on the disk whole, and so are the encoded picture and decoded frames. The same call after a crash goes on from there, with the same bits in the end; without a `seed` it takes the state's. A state of other options, another picture, model, device or version is refused, and so is one that another generation works on. The state is removed once the generation has succeeded.",
  },
  keepState: {
    kind: boolean,
    doc: "Leaves the state in `resume` after success, with the finished frames, until `removeState(folder)`: for programs that still have to write the video to a file.",
    default: always(false),
  },
  signal: {
    ...SIGNAL,
    doc: "Cancels within a step, on a GPU within two where a step takes less than half a second; `generate` then throws VdError `cancelled`.",
  },
  onProgress: PROGRESS,
  onStepEnd: {
    kind: callback("((step: StepEnd) => StepEndResult | Promise<StepEndResult>)", "StepEnd", "StepEndResult"),
    doc: "Called after each denoising step with the latents; those that it returns take their place. Without it the latents stay on the device.",
  },
  onFrames: {
    kind: callback("((chunk: DecodedChunk) => void)", "DecodedChunk"),
    doc: "Called with frames as they are decoded: with all of them, or chunk after chunk with `isolateDecodeChunks`. Errors as of `onPreview`.",
  },
  onPreview: {
    kind: callback("((preview: Preview) => void)", "Preview"),
    doc: "Called with the middle frame as it would look now. If it throws, or answers with a promise that rejects, the generation fails with its error.",
  },
  onWarning: {
    kind: callback("((message: string) => void)"),
    doc: "Called with what does not go together of checkpoint, sampler, steps and guidance, as sentences, before the work begins. Without it each is a warning of the process, once.",
  },
  previewEvery: {
    kind: integer(1, MAX_STEPS),
    unit: "steps",
    doc: "Steps between two previews.",
    default: always(5),
  },
  profiler: {
    kind: object({
      ...{ type: "WorkObserver", imports: ["WorkObserver"], expected: "a profiler" },
      hint: "Pass what createProfiler() of @vd/profiler gives.",
      is: (value) => {
        const { scope, planRan } = Object(value) as Record<string, unknown>;
        return typeof scope === "function" && typeof planRan === "function";
      },
    }),
    doc: "Hears of every part of the work with its times and memory, such as the profiler that `createProfiler` of `@vd/profiler` makes.",
  },
} as const satisfies OptionTable;

/** Options of a generation as documentation and help show them. */
export const GENERATE_GROUP: OptionGroup = {
  title: "Video",
  intro: "`pipeline.generate(options)` and `pipeline.plan(options)`.",
  table: GENERATE_TABLE,
};

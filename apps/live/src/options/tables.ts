import { DEADLINE_POLICIES, GUIDANCE_KINDS, RANDOM_MODELS, SESSION_PRECISIONS } from "@vd/live";
import {
  always,
  boolean,
  choice,
  found,
  GENERATE_TABLE,
  integer,
  LOAD_TABLE,
  type OptionGroup,
  type OptionTable,
  real,
  text,
} from "@vd/svd-pipeline/options";
import { NETWORK_NAMES } from "../bench/network-bench";
import { PIPE_FORMATS } from "../output/pipe-format";
import { PICTURE_CHOICES } from "../server/picture-format";

const MAX_FRAMES = 1_000_000;
/** The most calls of the network for a frame that any model could list. */
const MAX_STEPS = 50;
const MAX_PORT = 65_535;
const { device, threads } = LOAD_TABLE;

/** How frames of models of pictures follow each other on the device. */
const AHEAD_ROW = {
  kind: integer(0, 2),
  unit: "frames",
  doc: "Of models of pictures: frames that are begun before the one that is shown is finished. 1 and 2 make more frames a second, on a GPU by computing them beside each other where none needs another; a picture's frame then comes so many frames later.",
  default: always(0),
  cli: { flags: "--ahead <N>" },
} as const satisfies OptionTable[string];

/** What is played, by all commands. */
const MODEL_ROWS = {
  model: {
    kind: text("a name"),
    doc: "A model folder with a live.json, of the Stable Diffusion class or of Stable Video Diffusion, or a .safetensors file with all of one of the latter.",
    default: found("the bundled tiny-live"),
    cli: { flags: "-m, --model <DIR>" },
  },
  start: {
    kind: text("a name"),
    doc: "The start state, by its name in the model's live.json.",
    default: found("the model's first"),
    cli: { flags: "--start <NAME>" },
  },
  seed: {
    kind: integer(0, 2 ** 32 - 1),
    doc: "Decides the noise.",
    default: always(0),
    cli: { flags: "--seed <N>" },
  },
  steps: {
    kind: integer(1, MAX_STEPS),
    doc: "Calls of the network for a frame, one of the model's numbers.",
    default: found("the model's own"),
    cli: { flags: "--steps <N>" },
  },
  device,
  threads,
} as const satisfies OptionTable;

/** How models of Stable Video Diffusion make clips that follow each other; other models refuse these. */
export const CLIP_TABLE = {
  motion: {
    kind: GENERATE_TABLE.motionBucketId.kind,
    doc: "How much moves; 1 to 255 is what models were trained with.",
    default: found("the model's own"),
    cli: { flags: "--motion <N>" },
  },
  distilled: LOAD_TABLE.distilled,
  clipFrames: {
    kind: GENERATE_TABLE.clipFrames.kind,
    doc: "Frames of a clip.",
    default: found("the model's own"),
    cli: GENERATE_TABLE.clipFrames.cli,
  },
  overlap: {
    kind: GENERATE_TABLE.overlap.kind,
    unit: "frames",
    doc: "Frames that a clip takes over from the one before.",
    default: found("4"),
    cli: GENERATE_TABLE.overlap.cli,
  },
  holdColours: {
    kind: GENERATE_TABLE.holdColours.kind,
    doc: "How much of the drift of colours from clip to clip is taken back.",
    default: found("1"),
    cli: GENERATE_TABLE.holdColours.cli,
  },
} as const satisfies OptionTable;

/** The same for commands that play nothing, with the picture that begins to move. */
const CLIP_COMMAND_ROWS = {
  ...CLIP_TABLE,
  input: {
    kind: text("a name"),
    doc: "Of models of clips: the picture that begins to move.",
    cli: { flags: "--input <FILE>" },
  },
} as const satisfies OptionTable;

/** What holds a long game together. */
const GUARD_ROWS = {
  renoise: {
    kind: real(0, 1),
    doc: "Standard deviation of the noise that is added to the context before every frame, in units of pixels in [-1, 1].",
    default: always(0),
    cli: { flags: "--renoise <SIGMA>" },
  },
  anchor: {
    kind: real(0, 1),
    doc: "How far each frame's mean and contrast per channel are drawn towards those of the start state.",
    default: always(0),
    cli: { flags: "--anchor <PART>" },
  },
  recover: {
    kind: real(0, 1),
    doc: "How far they are drawn there while less than two thirds of the start's contrast or detail are left; 0 for never.",
    default: found("0.05 for games"),
    cli: { flags: "--recover <PART>" },
  },
} as const satisfies OptionTable;

/** What is played and how. */
export const GAME_TABLE = {
  ...MODEL_ROWS,
  fps: {
    kind: real(1, 240),
    unit: "frames per second",
    doc: "Frames a second of the game's clock.",
    default: found("the model's own"),
    cli: { flags: "--fps <N>" },
  },
  deadline: {
    kind: real(1, 10_000),
    unit: "milliseconds",
    doc: "Milliseconds that a frame may take.",
    default: found("the time between two frames"),
    cli: { flags: "--deadline <MS>" },
  },
  policy: {
    kind: choice(DEADLINE_POLICIES, "DeadlinePolicy"),
    doc: "What becomes of a frame that is late: its ticks are left out, the frame before is shown again, the next ones take fewer steps, or, of clips, the clock slows down to what is made in time.",
    default: always(DEADLINE_POLICIES[0]),
    cli: { flags: "--policy <NAME>" },
  },
  ...GUARD_ROWS,
  cache: {
    kind: boolean,
    doc: "Uses the network's deep features again while the picture changes little.",
    default: always(false),
    cli: { flags: "--cache" },
  },
  adaptive: {
    kind: boolean,
    doc: "Chooses the number of steps frame by frame, by the time that is left.",
    default: always(false),
    cli: { flags: "--adaptive" },
  },
} as const satisfies OptionTable;

/** What a session takes where nothing is typed, for models that are not told a guidance scale. */
export const PICTURE_DEFAULTS = { strength: 0.5, guidanceScale: 1.2 } as const;

/** How models of the Stable Diffusion class make pictures of pictures; games refuse these. */
export const PICTURE_TABLE = {
  prompt: {
    kind: text("a text"),
    doc: "What frames show, in words.",
    cli: { flags: "--prompt <TEXT>" },
  },
  negativePrompt: {
    kind: text("a text"),
    doc: "What guidance leads away from, in words.",
    cli: { flags: "--negative-prompt <TEXT>" },
  },
  strength: {
    kind: real(0.001, 1),
    doc: "How far frames may leave their pictures.",
    default: found(String(PICTURE_DEFAULTS.strength)),
    cli: { flags: "--strength <PART>" },
  },
  guidance: {
    kind: choice(GUIDANCE_KINDS, "GuidanceKind"),
    doc: "What guidance leads away from: nothing, residual noise that costs no calls, the same begun with one call for the negative prompt, or the negative prompt at every step.",
    default: always(GUIDANCE_KINDS[0]),
    cli: { flags: "--guidance <NAME>" },
  },
  guidanceScale: {
    kind: real(0, 100),
    doc: "How far guidance leads; 1 is nowhere.",
    default: found(`${PICTURE_DEFAULTS.guidanceScale}, or 8 for models that are told it`),
    cli: { flags: "--guidance-scale <N>" },
  },
  delta: {
    kind: real(0, 10),
    doc: "Part of the residual noise in guidance.",
    default: found("1"),
    cli: { flags: "--delta <PART>" },
  },
  similarity: {
    kind: boolean,
    doc: "Shows the frame before once more where the input hardly changes.",
    default: always(false),
    cli: { flags: "--similarity" },
  },
  temporalBlend: {
    kind: real(0, 1),
    doc: "The part of the frame before in each frame's latents, so that what stands still flickers less.",
    default: always(0),
    cli: { flags: "--temporal-blend <PART>" },
  },
  blendThreshold: {
    kind: real(0, 1000),
    doc: "The largest difference of latents up to which they are blended with the frame before.",
    default: found("any difference"),
    cli: { flags: "--blend-threshold <DIFFERENCE>" },
  },
  ahead: AHEAD_ROW,
  autoencoder: {
    kind: text("a name"),
    doc: "A tiny autoencoder, its folder or file, in place of the model's own.",
    cli: { flags: "--autoencoder <FILE>" },
  },
  tokenizer: {
    kind: text("a name"),
    doc: "A folder with vocab.json and merges.txt, for models in one file.",
    cli: { flags: "--tokenizer <DIR>" },
  },
} as const satisfies OptionTable;

/** What steers the game besides keys. */
export const INPUT_TABLE = {
  input: {
    kind: text("a name"),
    doc: "Video in: a video file, or webcam, whose pictures the page sends; of models of clips the picture that begins to move.",
    cli: { flags: "--input <FILE>" },
  },
  blend: {
    kind: real(0, 1),
    doc: "The part of a picture of the video in the newest context frame.",
    default: found("the session's own"),
    cli: { flags: "--blend <PART>" },
  },
  actions: {
    kind: text("a list"),
    doc: "Actions without a page: right:50,right+jump:10 does the first for 50 frames, the second for 10, and so on from the start.",
    cli: { flags: "--actions <LIST>" },
  },
} as const satisfies OptionTable;

/** Where the frames go. */
export const OUTPUT_TABLE = {
  port: {
    kind: integer(0, MAX_PORT),
    doc: "The page's port; 0 for any that is free.",
    default: found("8484, or a free one where it is taken"),
    cli: { flags: "--port <N>" },
  },
  host: {
    kind: text("an address"),
    doc: "The address to listen at; any but this machine's own asks pages for a token.",
    default: always("127.0.0.1"),
    cli: { flags: "--host <ADDRESS>" },
  },
  open: {
    kind: boolean,
    doc: "Opens the page in the browser.",
    default: always(true),
    cli: { flags: "--open", off: { flag: "--no-open", doc: "Opens no browser." } },
  },
  picture: {
    kind: choice(PICTURE_CHOICES),
    doc: "How frames travel to the page: auto is JPEG for large ones to other machines, and rgb else.",
    default: always(PICTURE_CHOICES[0]),
    cli: { flags: "--picture <NAME>" },
  },
  record: {
    kind: text("a name"),
    doc: "Writes the game as a video when it ends: .mp4, .webm, .gif, .webp, frame-%03d.png, or a folder/ for PNG frames.",
    cli: { flags: "--record <FILE>" },
  },
  output: {
    kind: choice(["-"]),
    doc: "Writes frames to standard output instead of showing a page; it has one name, -.",
    cli: { flags: "-o, --output <->" },
  },
  format: {
    kind: choice(PIPE_FORMATS),
    doc: "What standard output gets: y4m, which says its size, or rgb, bare pixels.",
    default: always(PIPE_FORMATS[0]),
    cli: { flags: "--format <NAME>" },
  },
  frames: {
    kind: integer(1, MAX_FRAMES),
    unit: "frames",
    doc: "Ends after so many frames.",
    cli: { flags: "--frames <N>" },
  },
} as const satisfies OptionTable;

/** Most sessions that a bench runs at the same time. */
const MAX_SESSIONS = 64;

/** Most frames that a bench times: what a session keeps the times of. */
const MAX_BENCH_FRAMES = 1000;

/** Options of `bench`. */
export const BENCH_TABLE = {
  ...MODEL_ROWS,
  ...CLIP_COMMAND_ROWS,
  random: {
    kind: choice([...RANDOM_MODELS, ...NETWORK_NAMES]),
    doc: "Random weights of a published layout instead of a model: sd15 and sd-turbo make pictures of pictures, and so does unet-chain, the reference of 880 million parameters; those that end in -unet time one call of the network for two pictures of 64 by 64 latents, and unet-chain-pair one frame of the reference for two pictures.",
    cli: { flags: "--random <NAME>" },
  },
  ahead: AHEAD_ROW,
  compare: {
    kind: boolean,
    doc: "With frames begun ahead, of models of pictures: makes some frames one by one, too, and counts those that differ in a bit.",
    default: always(false),
    cli: { flags: "--compare" },
  },
  precision: {
    kind: choice(SESSION_PRECISIONS),
    doc: "Of models of pictures on a GPU: the element type of activations; float8 is for unet-chain alone.",
    default: found("float32 on the CPU, float16 on GPUs"),
    cli: { flags: "--precision <NAME>" },
  },
  devices: {
    ...LOAD_TABLE.devices,
    doc: "Also times sessions at the same time on several devices and, of models of pictures, one session with its parts on the first two: GPUs by number (`0`, `1`) or name (`cuda:0`), or `cpu` several times, which divides the threads.",
    default: found("none"),
  },
  sessions: {
    kind: integer(1, MAX_SESSIONS),
    doc: "Sessions at the same time, on the devices in turn.",
    default: found("one on each device"),
    cli: { flags: "--sessions <N>" },
  },
  frames: {
    kind: integer(10, MAX_BENCH_FRAMES),
    unit: "frames",
    doc: "Frames that are timed.",
    default: always(300),
    cli: { flags: "--frames <N>" },
  },
  presses: {
    kind: integer(0, MAX_BENCH_FRAMES),
    doc: "Key presses over a socket of this machine whose way to a picture is timed.",
    default: always(40),
    cli: { flags: "--presses <N>" },
  },
  json: { kind: text("a name"), doc: "Writes the results as JSON.", cli: { flags: "--json <FILE>" } },
} as const satisfies OptionTable;

/** Options of `drift`. */
export const DRIFT_TABLE = {
  ...MODEL_ROWS,
  ...CLIP_COMMAND_ROWS,
  ...GUARD_ROWS,
  frames: {
    kind: integer(10, MAX_FRAMES),
    unit: "frames",
    doc: "Frames to play, with keys pressed at random.",
    default: always(2000),
    cli: { flags: "--frames <N>" },
  },
  every: {
    kind: integer(1, MAX_FRAMES),
    unit: "frames",
    doc: "Frames from one measure to the next.",
    default: always(10),
    cli: { flags: "--every <N>" },
  },
  output: {
    kind: text("a name"),
    doc: "Writes the plots as a page.",
    default: always("drift.html"),
    cli: { flags: "-o, --output <FILE>" },
  },
  json: { kind: text("a name"), doc: "Writes the measures as JSON.", cli: { flags: "--json <FILE>" } },
} as const satisfies OptionTable;

/** The options of playing, in the order of its help. */
export const PLAY_GROUPS: readonly OptionGroup[] = [
  { title: "Game", intro: "", table: GAME_TABLE, isApp: true },
  { title: "Pictures", intro: "", table: PICTURE_TABLE, isApp: true },
  { title: "Clips", intro: "", table: CLIP_TABLE, isApp: true },
  { title: "Input", intro: "", table: INPUT_TABLE, isApp: true },
  { title: "Output", intro: "", table: OUTPUT_TABLE, isApp: true },
];

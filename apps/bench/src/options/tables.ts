import { always, boolean, integer, type OptionTable, text } from "@vd/svd-pipeline/options";
import { PARTS, PEER_MODES, VAE_CASES } from "../measure/options";
import { ROOFLINE_MODELS } from "../roofline/models";

/** No count on the command line is larger. */
const MAX_COUNT = 10_000;

const COUNT = integer(1, MAX_COUNT);

/** Every option that vd-bench has beyond those of vd-generate; a command takes some of them. */
export const BENCH_TABLE = {
  model: {
    kind: text("a folder"),
    doc: "A model folder, such as make-model writes.",
    cli: { flags: "-m, --model <DIR>" },
  },
  image: {
    kind: text("a name"),
    doc: "The picture of the end-to-end part; without it one is made.",
    cli: { flags: "--image <FILE>" },
  },
  causalModel: {
    kind: text("a file or folder"),
    doc: "The causal autoencoder of SeedVR2, measured too: its file or folder, or random for weights of its sizes.",
    cli: { flags: "--causal-model <PATH>" },
  },
  causalLimit: {
    kind: text("a list"),
    unit: "GiB",
    doc: "Also measures calls of the causal autoencoder's encode and decode from array to array, each direction within so much of the device, as the contenders ours-within-8.6-gib and so on.",
    cli: { flags: "--causal-limit <LIST>" },
  },
  seedvr: {
    kind: text("a folder"),
    doc: "A checkout of https://github.com/ByteDance-Seed/SeedVR: its own PyTorch code runs beside ours in the causal autoencoder's cases, on the same weights, as the contender seedvr. It needs a Python with torch, diffusers, einops and PyYAML.",
    cli: { flags: "--seedvr <DIR>" },
  },
  rounds: { kind: COUNT, doc: "Turns of each contender.", default: always(5), cli: { flags: "--rounds <N>" } },
  repeats: {
    kind: COUNT,
    doc: "Runs of a contender in one turn.",
    default: always(3),
    cli: { flags: "--repeats <N>" },
  },
  e2eRounds: {
    kind: COUNT,
    doc: "Turns of each contender in end-to-end parts.",
    default: always(3),
    cli: { flags: "--e2e-rounds <N>" },
  },
  distilled: {
    kind: boolean,
    doc: "Times the model as one that is distilled for few steps, as made weights do not tell: 4 steps without guidance where no steps are typed, and ours alone.",
    default: always(false),
    cli: { flags: "--distilled" },
  },
  limit: {
    kind: COUNT,
    unit: "seconds",
    doc: "Seconds after which a contender takes no further turn in a case.",
    cli: { flags: "--limit <SECONDS>" },
  },
  alone: {
    kind: boolean,
    doc: "Measures one contender after the other, not turn by turn: each is loaded, timed and let go of, and its row is on the disk, before the next is loaded. With `--limit` none takes much longer than that, loading included.",
    default: always(false),
    cli: { flags: "--alone" },
  },
  cases: {
    kind: text("a list"),
    doc: `Which of the autoencoders' cases are measured, of ${VAE_CASES.join(",")}; those that begin with causal with --causal-model.`,
    default: always(VAE_CASES.join(",")),
    cli: { flags: "--cases <LIST>" },
  },
  contenders: {
    kind: text("a list"),
    doc: "Names of the only contenders that are measured, as rows have them: ours, ours-graph, ours-plain, ours-optimised-fp16, diffusers and so on.",
    cli: { flags: "--contenders <LIST>" },
  },
  inputSeed: {
    kind: integer(0, 2 ** 32 - 1),
    doc: "Decides the inputs.",
    default: always(0),
    cli: { flags: "--seed <N>" },
  },
  parts: {
    kind: text("a list"),
    doc: `Which parts are measured, of ${PARTS.join(",")}.`,
    default: always(PARTS.join(",")),
    cli: { flags: "--parts <LIST>" },
  },
  peers: {
    kind: text("a list"),
    doc: `Who runs beside ours, of ${PEER_MODES.join(",")}, or none.`,
    default: always("eager,onnxruntime"),
    cli: { flags: "--peers <LIST>" },
  },
  peer: { kind: text("a name"), doc: "One peer, instead of the list.", cli: { flags: "--peer <NAME>" } },
  usePeers: {
    kind: boolean,
    doc: "Times ours alone.",
    default: always(true),
    cli: { flags: "--no-peers" },
  },
  reference: {
    kind: boolean,
    doc: "Leaves out the float32 reference.",
    default: always(true),
    cli: { flags: "--no-reference" },
  },
  python: {
    kind: text("a program"),
    doc: "The Python that has PyTorch and diffusers.",
    default: always("python3"),
    cli: { flags: "--python <PROGRAM>" },
  },
  peerScript: {
    kind: text("a name"),
    doc: "Another peer that speaks the same lines.",
    cli: { flags: "--peer-script <FILE>" },
  },
  precisions: {
    kind: text("a list"),
    doc: "Compares layers in 8 bits instead of saved calls: some of fp8,int8,mixed8, each without a calibration table and with one that is made.",
    cli: { flags: "--precisions <LIST>" },
  },
  outliers: {
    kind: boolean,
    doc: "Gives a copy of the model outliers like those of real checkpoints first: some channels behind each LayerNorm are 20 to 60 times as large, and the weights that take them as much smaller.",
    cli: { flags: "--outliers" },
  },
  json: { kind: text("a name"), doc: "Writes the results as JSON.", cli: { flags: "--json <FILE>" } },
  compare: {
    kind: text("a name"),
    doc: "Compares with earlier results; exit status 1 if something of ours became slower.",
    cli: { flags: "--compare <FILE>" },
  },
  force: { kind: boolean, doc: "Compares with results of another device.", cli: { flags: "--force" } },
  history: {
    kind: text("some names"),
    doc: "Files of what was measured before, those of the checkout by default.",
    cli: { flags: "--history <FILES...>" },
  },
  report: {
    kind: text("some names"),
    doc: "Results to compare with the history, the last ones in it by default.",
    cli: { flags: "--report <FILES...>" },
  },
  card: {
    kind: text("a card"),
    doc: "What to expect of this card; without it all known cards are listed.",
    cli: { flags: "--card <NAME>" },
  },
  planOf: {
    kind: text("a name"),
    doc: `Whose work is counted, one of ${ROOFLINE_MODELS.join(", ")}.`,
    default: always(ROOFLINE_MODELS[0]),
    cli: { flags: "--model <NAME>" },
  },
  measured: {
    kind: text("some names"),
    doc: "Results of a card that was measured, those of the checkout's H200 by default.",
    cli: { flags: "--measured <FILES...>" },
  },
  ops: { kind: boolean, doc: "Prints every op that was timed, too.", cli: { flags: "--ops" } },
  all: { kind: boolean, doc: "Prints every row that was measured before.", cli: { flags: "--all" } },
  op: {
    kind: text("an op"),
    doc: "Times the shapes of one op alone, large ones too.",
    cli: { flags: "--op <OP>" },
  },
  why: {
    kind: boolean,
    doc: "Tells, instead of timing, which kernel computes each op, and why no other does.",
    cli: { flags: "--why" },
  },
  variants: {
    kind: boolean,
    doc: "Times every kernel that could compute an op, not only the one that does.",
    cli: { flags: "--variants" },
  },
  dryRun: {
    kind: boolean,
    doc: "Prints what would be timed and about how long it takes; times nothing.",
    cli: { flags: "--dry-run" },
  },
} as const satisfies OptionTable;

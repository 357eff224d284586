import type { Convolutions, LayerPrecision, LoadOptions, Precision } from "@vd/svd-pipeline";

/** Parts that {@link measure} knows, in the order they run. */
export const PARTS = ["clip", "encode", "unet", "vae", "start", "e2e"] as const;
/** One of {@link PARTS}: image encoder, VAE encode of the picture, one denoiser call, VAE decode of all frames, time from
 *  process start to the first denoiser call, picture file to frames in host memory. */
export type Part = (typeof PARTS)[number];

/** What is measured of autoencoders: the two parts, and what switches gain in each and in SeedVR2's. */
export const VAE_CASES = [
  ...["encode", "encode-switches", "vae", "vae-switches"],
  ...["causal-encode-switches", "causal-decode-switches"],
] as const;

/** Ways in which PyTorch runs, and ONNX Runtime, which computes our export on the CPU. */
export const PEER_MODES = ["eager", "compile", "onnxruntime", "tensorrt"] as const;
/** One of {@link PEER_MODES}. */
export type PeerMode = (typeof PEER_MODES)[number];
/** Peers that the Python program runs; the others run in this process. */
export const isPythonPeer = (mode: PeerMode): boolean => mode === "eager" || mode === "compile";

/** What to measure and how. */
export interface MeasureOptions {
  model: string;
  /** Where the results go after every part; undefined: nowhere. */
  output?: string | undefined;
  device: "cpu" | "cuda";
  /** Of activations. */
  precision: Precision;
  /** Which layers are computed in 8 bits; default: none. */
  layers?: LayerPrecision | undefined;
  /** Whether generations are those of a model that is distilled for few steps: without guidance. */
  distilled?: boolean | undefined;
  /** How 3x3 convolutions are computed; default: as a generation at full speed computes them. */
  convolutions?: Convolutions | undefined;
  /** What `layers` knows of the layers' inputs: a table, `none`, or the one beside the model. */
  calibration?: string | undefined;
  numFrames: number;
  width: number;
  height: number;
  steps: number;
  parts: readonly Part[];
  peers: readonly PeerMode[];
  /** How often contenders take turns, and how often the end-to-end part does. */
  rounds: number;
  e2eRounds: number;
  /** Runs of a contender in one turn. */
  repeats: number;
  seed: number;
  /** The Python that has PyTorch, and the peer's script. */
  python: string;
  peerScript: string;
  /** One contender after the other, each row on the disk before the next is loaded; default: turn by turn. */
  alone?: boolean | undefined;
  /** Seconds after which a contender takes no further turn, or, alone, is given up. */
  limitSeconds?: number | undefined;
  /** The only cases of autoencoders, and the only contenders, that are measured; undefined for all. */
  cases?: readonly string[] | undefined;
  contenders?: readonly string[] | undefined;
  /** Also compute the float32 reference with the peer. */
  reference: boolean;
  threads?: number | undefined;
  /** A picture file for the end-to-end part; undefined: one is made. */
  image?: string | undefined;
  /** SeedVR2's causal autoencoder, a file or folder, or random weights; undefined: it is not measured. */
  causalModel?: string | undefined;
  /** Limits in GiB within which it is called as callers call it; default: none. */
  causalLimits?: readonly number[] | undefined;
  /** A checkout of SeedVR, whose code runs beside ours, and the program that runs it; undefined: it does not. */
  seedvr?: { folder: string; script: string } | undefined;
}

/** Returns what the pipeline is opened with. */
export const loadOptionsOf = ({
  precision: dtype,
  layers: precision,
  convolutions,
  threads,
  calibration,
  distilled,
}: Pick<
  MeasureOptions,
  "precision" | "layers" | "convolutions" | "threads" | "calibration" | "distilled"
>): LoadOptions => ({
  ...{ dtype, precision, convolutions, threads, calibration, distilled },
});

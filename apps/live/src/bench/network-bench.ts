import { type Device, type DType, VdError } from "@vd/kernels-native";
import {
  CHAIN_SIDE,
  REFERENCE_UNET_CHAIN,
  recordRandomChain,
  recordRandomNetwork,
  type SessionPrecision,
  unetChainSize,
} from "@vd/live";
import { type DeviceName, layoutGraph, openNamedDevice, Plan, type Recording, runInSlices } from "@vd/tensor";
import type { FrameBench } from "./frame-bench";
import { timesOf } from "./times";

/** Every network that is timed alone. */
export const NETWORK_NAMES = ["sd15-unet", "sd-turbo-unet", "unet-chain-pair"] as const;

/** A network that is timed alone. */
export type NetworkName = (typeof NETWORK_NAMES)[number];

/** True for the name of a network that is timed alone. */
export const isNetworkName = (name: string | undefined): name is NetworkName =>
  NETWORK_NAMES.some((known) => known === name);

/** Calls before the first that is timed. */
const WARM_CALLS = 5;
/** Pictures of a call, as classifier-free guidance has them, and the side of their latents. */
const PICTURES = 2;
const SIDE = 64;

/** What is timed, and on what. */
export interface NetworkBenchOptions {
  device: DeviceName;
  threads: number | undefined;
  seed: number;
  /** Element type of activations; default float32 on the CPU and float16 on GPUs. */
  precision: SessionPrecision | undefined;
}

/** Learned numbers and work of a frame of the reference for so many pictures. */
export function chainSize(pictures: number): Required<Pick<FrameBench, "parameters" | "gigaflop">> {
  const { parameters, flops } = unetChainSize(REFERENCE_UNET_CHAIN, {
    pictures,
    height: CHAIN_SIDE,
    width: CHAIN_SIDE,
  });
  return { parameters, gigaflop: flops / 1e9 };
}

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16", float8: "f16" } as const;

/** The element type of activations. @throws VdError `attr` for one that the device or the network does not have */
function dtypeOf(name: NetworkName, device: Device, precision: SessionPrecision | undefined): DType {
  const refuse = (expected: string): never => {
    throw new VdError({ code: "attr", where: "session] [precision", expected, got: String(precision) });
  };
  if (precision === undefined) return device.kind === "cpu" ? "f32" : "f16";
  if (device.kind === "cpu" && precision !== "float32")
    refuse("float32 on the CPU, whose activations have no other type");
  if (precision === "float8" && name !== "unet-chain-pair") refuse("a chain of U-Nets, whose layers can be in float8");
  return DTYPES[precision];
}

/** Records what is timed: a call of a network for two pictures of 64 × 64 latents, or a frame of the reference for two pictures. */
function recordingOf(name: NetworkName, seed: number, precision: SessionPrecision | undefined): Recording {
  if (name === "unet-chain-pair")
    return (g) => recordRandomChain(g, { seed, pictures: PICTURES, float8: precision === "float8" });
  const layoutName = name === "sd15-unet" ? "sd15" : "sd-turbo";
  return (g) => recordRandomNetwork(g, layoutName, { seed, pictures: PICTURES, side: SIDE, isConditioned: true });
}

/** Times calls of a random network for two pictures of 64 × 64 latents; what follows from timestep and text is
 *  there already, as in streams. Of the reference it times frames. Stops at the signal. */
export async function benchNetwork(
  name: NetworkName,
  { device: deviceName, threads, seed, precision }: NetworkBenchOptions,
  calls: number,
  signal: AbortSignal,
): Promise<FrameBench> {
  const device = openNamedDevice(deviceName, threads);
  await device.prepare();
  const freeBefore = device.kind === "cpu" ? undefined : (await device.memory()).freeBytes;
  const layout = await runInSlices(
    layoutGraph.inPieces(recordingOf(name, seed, precision), { dtype: dtypeOf(name, device, precision) }),
  );
  const plan = await Plan.load(device, layout, { capture: device.kind !== "cpu", name });
  try {
    const times: number[] = [];
    let startMs = 0;
    for (let i = 0; i < WARM_CALLS + calls; i++) {
      signal.throwIfAborted();
      if (i === WARM_CALLS) startMs = performance.now();
      const begun = performance.now();
      await plan.run();
      if (i >= WARM_CALLS) times.push(performance.now() - begun);
    }
    const fps = (1000 * calls) / (performance.now() - startMs);
    const deviceBytes = freeBefore === undefined ? undefined : freeBefore - (await device.memory()).freeBytes;
    const parts = { gigaflop: layout.cost.flops / 1e9, weightMib: layout.memory.weightBytes / 2 ** 20 };
    const size = name === "unet-chain-pair" ? chainSize(PICTURES) : {};
    return { frames: calls, fps, frameMs: timesOf(times), parts, deviceBytes, ...size };
  } finally {
    await plan.free();
  }
}

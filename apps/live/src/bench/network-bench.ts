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
  /** Calls that are begun before the one before is finished, in memory of their own. */
  ahead: number;
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

/** Calls plans, each again as soon as it is done. Milliseconds of each call behind the first ones, and how many there were a second. */
export async function timeCalls(plans: readonly Plan[], calls: number, signal: AbortSignal) {
  const times: number[] = [];
  let [startMs, begun] = [0, 0];
  const repeat = async (plan: Plan) => {
    while (begun < WARM_CALLS + calls) {
      signal.throwIfAborted();
      const isTimed = begun++ >= WARM_CALLS;
      const before = performance.now();
      if (isTimed && startMs === 0) startMs = before;
      await plan.run();
      if (isTimed) times.push(performance.now() - before);
    }
  };
  // All have ended before one is freed.
  for (const ended of await Promise.allSettled(plans.map(repeat))) if (ended.status === "rejected") throw ended.reason;
  return { fps: (1000 * calls) / (performance.now() - startMs), frameMs: timesOf(times) };
}

/** Times calls of a random network for two pictures of 64 × 64 latents; what follows from timestep and text is
 *  there already, as in streams. Of the reference it times frames. Stops at the signal. */
export async function benchNetwork(
  name: NetworkName,
  { device: deviceName, threads, seed, precision, ahead }: NetworkBenchOptions,
  calls: number,
  signal: AbortSignal,
): Promise<FrameBench> {
  const device = openNamedDevice(deviceName, threads);
  await device.prepare();
  const freeBefore = device.kind === "cpu" ? undefined : (await device.memory()).freeBytes;
  const layout = await runInSlices(
    layoutGraph.inPieces(recordingOf(name, seed, precision), { dtype: dtypeOf(name, device, precision) }),
  );
  const plans: Plan[] = [];
  try {
    while (plans.length <= ahead) plans.push(await Plan.load(device, layout, { capture: device.kind !== "cpu", name }));
    const { fps, frameMs } = await timeCalls(plans, calls, signal);
    const deviceBytes = freeBefore === undefined ? undefined : freeBefore - (await device.memory()).freeBytes;
    const parts = { gigaflop: layout.cost.flops / 1e9, weightMib: layout.memory.weightBytes / 2 ** 20 };
    const size = name === "unet-chain-pair" ? chainSize(PICTURES) : {};
    return { frames: calls, fps, frameMs, parts, deviceBytes, ...size };
  } finally {
    for (const plan of plans) await plan.free();
  }
}

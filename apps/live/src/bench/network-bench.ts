import { recordRandomNetwork } from "@vd/live";
import { type DeviceName, layoutGraph, openNamedDevice, Plan, runInSlices } from "@vd/tensor";
import type { FrameBench } from "./frame-bench";
import { timesOf } from "./times";

/** Every network that is timed alone. */
export const NETWORK_NAMES = ["sd15-unet", "sd-turbo-unet"] as const;

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

/** Times calls of a random network for two pictures of 64 × 64 latents; what follows from timestep and text is computed in each. Stops
 *  at the signal. */
export async function benchNetwork(
  name: NetworkName,
  { device: deviceName, threads, seed }: { device: DeviceName; threads: number | undefined; seed: number },
  calls: number,
  signal: AbortSignal,
): Promise<FrameBench> {
  const device = openNamedDevice(deviceName, threads);
  await device.prepare();
  const freeBefore = device.kind === "cpu" ? undefined : (await device.memory()).freeBytes;
  const layoutName = name === "sd15-unet" ? "sd15" : "sd-turbo";
  const layout = await runInSlices(
    layoutGraph.inPieces((g) => recordRandomNetwork(g, layoutName, { seed, pictures: PICTURES, side: SIDE }), {
      dtype: device.kind === "cpu" ? "f32" : "f16",
    }),
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
    return { frames: calls, fps, frameMs: timesOf(times), parts, deviceBytes };
  } finally {
    await plan.free();
  }
}

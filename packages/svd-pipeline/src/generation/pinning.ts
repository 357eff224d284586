import { freeHostBytes } from "@vd/vae-opt";
import type { CountedLayout } from "../stages/generation-stages";
import { placedBytes, streamBytesOf } from "../stages/pinned-weights";
import type { StageLoaderOptions } from "../stages/stage-loader";
import type { GenerationContext } from "./context";
import { isDenoiser } from "./estimate";

/** How a generation uses page-locked memory of the machine. */
export interface Pinning {
  /** Bytes of weights that are streamed from there. */
  bytes: number;
  /** Whether they stay for the next generation. */
  isKept: boolean;
}

const inGibibytes = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** Returns what a caller is told where weights are not kept; undefined where there is nothing to tell. */
export function unpinnedMessage(
  { pinning }: GenerationContext,
  reason = "has too little memory left",
): string | undefined {
  if (!pinning || pinning.isKept) return undefined;
  return `The machine ${reason} to keep ${inGibibytes(pinning.bytes)} of weights page-locked: each generation packs them anew.`;
}

/** Decides from the stages' layouts whether a generation's weights stay in page-locked memory; undefined where none are streamed. */
export function choosePinning(
  { device, team, streamBytes = 0, pinned }: GenerationContext,
  layouts: readonly CountedLayout[],
  freeBytes = freeHostBytes(),
): Pinning | undefined {
  if (device.kind === "cpu" || team || streamBytes === 0) return undefined;
  const placed = (stages: readonly CountedLayout[]) =>
    placedBytes(
      stages.map(({ name, layout }) => ({ layout, streamBytes: streamBytesOf(isDenoiser(name) ? streamBytes : 0) })),
    ).pinned;
  const bytes = placed(layouts);
  if (pinned?.fits(bytes, freeBytes)) return { bytes, isKept: true };
  return { bytes: placed(layouts.filter(({ name }) => isDenoiser(name))), isKept: false };
}

/** Settles how a generation uses page-locked memory, and lets go of what an earlier one has left there that this one does not keep. */
export async function settlePinning(context: GenerationContext, layouts: readonly CountedLayout[]): Promise<void> {
  context.pinning = context.checked.memory === "lowest" ? choosePinning(context, layouts) : undefined;
  const { pinned, pinning, device } = context;
  if (!pinning?.isKept && pinned && pinned.bytes > 0) await pinned.release(device);
}

/** Returns what the stages of a generation are loaded with, once it is settled how it uses memory. */
export function loaderOptions({
  device,
  layouts,
  components,
  checked,
  tuning,
  pinned,
  pinning,
}: GenerationContext): StageLoaderOptions {
  const trims = checked.memory !== "full";
  return { device, layouts, tuning, files: components.files, trims, pinned: pinning?.isKept ? pinned : undefined };
}

import { type BufferCopy, type CompileOptions, type DeviceBuffer, VdError } from "@vd/kernels-native";
import type { Tensor } from "../tensor";
import type { Tuning } from "../tune/choose";
import type { GraphLayout } from "./layout";
import type { WorkObserver } from "./observer";
import type { Plan } from "./plan";

/** How a plan runs. */
export interface RunOptions {
  /** Stops before the next row; the run then throws VdError `cancelled`. */
  signal?: AbortSignal | undefined;
  /** Measure every row. Default: whether the plan has an observer. */
  timing?: boolean;
  /** Made before the first row, on a GPU without the host in between: from a plan of this or another device, of which no run is under way that
   *  writes there. */
  copies?: readonly BufferCopy[] | undefined;
  /** Leaves what was staged to a later run; default: this one begins with it. */
  leavesStaged?: boolean | undefined;
}

/** How a run is queued. */
export interface QueueOptions extends Omit<RunOptions, "timing"> {
  /** Plans, of this or another device, whose run that was queued last ends before this one begins. */
  after?: readonly Plan[] | undefined;
}

/** A plan that has no memory of its device yet. */
export interface PreparedPlan {
  /** Allocates what the layout planned. Called once. @throws VdError as {@link Plan.load} */
  load(): Promise<Plan>;
}

/** Bytes that are copied, and their places in what they come from and in what they go to. */
export interface CopiedBytes {
  from: number;
  to: number;
  bytes: number;
}

/** How a plan is loaded. */
export interface PlanOptions extends CompileOptions {
  /** Which table decides the kernel variants of rows on a GPU, unless `variants` does. Default: the one that comes with
   *  the package for the device; false for the device's own choice. */
  tuning?: Tuning;
  /** Where intermediate tensors lie, instead of in memory of the plan's own: as many bytes as the layout's `arenaBytes`, which
   *  plans that never run at the same time may share. It must outlive the plan. */
  arena?: DeviceBuffer | undefined;
  /** What the observer calls the plan; default `plan`. */
  name?: string | undefined;
  /** Hears of everything that is done with the plan; every run then measures its rows, and `capture` records none. */
  observer?: WorkObserver | undefined;
}

/** Refuses an arena that is too small for a layout. */
export function requireArena({ memory }: GraphLayout, arena: DeviceBuffer | undefined): void {
  if (arena === undefined || arena.bytes >= memory.arenaBytes) return;
  const [expected, got] = [`an arena of ${memory.arenaBytes} bytes`, String(arena.bytes)];
  throw new VdError({ code: "layout", where: "plan", expected, got });
}

/** Refuses a view whose pixels do not follow on each other. @throws VdError `layout` */
export function requirePacked(name: string, { dims, pitch }: Tensor): void {
  if (pitch === dims[dims.length - 1]) return;
  throw new VdError({
    code: "layout",
    where: `plan] [${name}`,
    expected: "a packed tensor",
    got: `a pitch of ${pitch}`,
  });
}

/** Refuses what is no AbortSignal, such as its controller. @throws VdError `attr` */
export function requireSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || signal === null || typeof signal.addEventListener === "function") return;
  throw new VdError({ code: "attr", where: "run] [signal", expected: "an AbortSignal", got: typeof signal });
}

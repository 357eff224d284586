import type { DType } from "@vd/kernels-native";
import { listOf, OBJECT, requireArgument } from "@vd/kernels-native";
import { labelled, layoutGraph, type NamedDevice, Plan, type Recording, runInSlices } from "@vd/tensor";

/** A part of the work on every frame, on a device of its own. */
export interface FramePart {
  /** `denoiser`, `autoencoder`. */
  name: string;
  on: NamedDevice;
  /** Records what the part computes. Its states stay from frame to frame. */
  build: Recording;
  /** Further programs of the part by name, of which a frame takes one in place of `build`. They share no states with it but those that have a
   *  place of their own. */
  variants?: Readonly<Record<string, Recording>> | undefined;
  /** Element type of activations; default f32. */
  dtype?: DType | undefined;
  /** Inputs that are outputs of the part before: by the input's name the output's. They go from device to device. */
  takes?: Readonly<Record<string, string>> | undefined;
}

/** What the host gives each part for a frame, by the names of inputs; a part may get nothing. */
export type FrameInputs = readonly Readonly<Record<string, ArrayLike<number>>>[];

/** Which of its variants each part takes for a frame, by the part's name; `build` where there is none. */
export type FrameVariants = Readonly<Record<string, string>>;

/** How a part has been doing. */
export interface FramePartStats {
  name: string;
  device: string;
  frames: number;
  /** Time at work: with copies from the part before, without waiting. */
  busyMs: number;
}

/** Lets one in at a time, in the order of asking. */
class Turnstile {
  private last: Promise<void> = Promise.resolve();

  /** Settles when everyone who asked before has left; the result leaves. */
  async enter(): Promise<() => void> {
    const before = this.last;
    let leave = () => {};
    this.last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    return leave;
  }
}

/** A loaded part. */
class LoadedPart {
  readonly turns = new Turnstile();
  frames = 0;
  busyMs = 0;

  /** plans: by the variant's name, `build`'s under the empty one. */
  constructor(
    readonly part: FramePart,
    private readonly plans: ReadonlyMap<string, Plan>,
  ) {}

  /** Loads all programs of a part. */
  static async load(part: FramePart): Promise<LoadedPart> {
    const { device } = part.on;
    const plans = new Map<string, Plan>();
    try {
      for (const [variant, build] of Object.entries({ "": part.build, ...part.variants })) {
        const layout = await runInSlices(layoutGraph.inPieces(build, { dtype: part.dtype ?? "f32" }));
        const name = variant === "" ? part.name : `${part.name} ${variant}`;
        plans.set(variant, await Plan.load(device, layout, { capture: device.kind !== "cpu", name }));
      }
      return new LoadedPart(part, plans);
    } catch (error) {
      await Promise.allSettled([...plans.values()].map((plan) => plan.free()));
      throw labelled(error, part.on);
    }
  }

  /** The program that a frame takes. */
  plan(variants: FrameVariants): Plan {
    return this.plans.get(variants[this.part.name] ?? "")!;
  }

  async free(): Promise<void> {
    await Promise.allSettled([...this.plans.values()].map((plan) => plan.free()));
  }

  async busy(work: () => Promise<unknown>): Promise<void> {
    const begun = performance.now();
    try {
      await work();
    } catch (error) {
      throw labelled(error, this.part.on);
    } finally {
      this.busyMs += performance.now() - begun;
    }
  }

  /** Brings over what the part before made. */
  async take(before: LoadedPart, variants: FrameVariants): Promise<void> {
    const links = Object.entries(this.part.takes ?? {});
    const [plan, source] = [this.plan(variants), before.plan(variants)];
    await this.busy(() => Promise.all(links.map(([input, output]) => plan.copyFrom(input, source, output))));
  }

  async run(inputs: FrameInputs[number] = {}, variants: FrameVariants): Promise<void> {
    const plan = this.plan(variants);
    await this.busy(async () => {
      await Promise.all(Object.entries(inputs).map(([name, data]) => plan.write(name, data)));
      await plan.run();
    });
    this.frames++;
  }
}

const PARTS = listOf(OBJECT);

/**
 * Frames that go through several devices one after the other: while the autoencoder decodes a frame on one, the denoiser makes the next one
 * on another. Frames come out in the order in which they went in, with the bits that one device gives them.
 *
 * @example
 * ```ts
 * import { FramePipeline } from "@vd/live";
 * import { openDevices } from "@vd/tensor";
 *
 * const [first, second] = openDevices(["cpu", "cpu"]);
 * const dims = [1, 1, 8, 8];
 * const pipeline = await FramePipeline.open([
 *   { name: "denoiser", on: first!, build: (g) => g.output("latents", g.pointwise({ a: g.input("noise", dims), aScale: 2 })) },
 *   {
 *     name: "autoencoder",
 *     on: second!,
 *     takes: { z: "latents" },
 *     build: (g) => g.output("frame", g.pointwise({ a: g.input("z", dims), act: "silu" })),
 *   },
 * ]);
 * async function* inputs() {
 *   for (let i = 0; i < 4; i++) yield [{ noise: new Float32Array(64).fill(i) }];
 * }
 * for await (const frame of pipeline.frames(inputs(), ["frame"])) console.log(frame.get("frame")!.length);
 * await pipeline.close();
 * ```
 */
export class FramePipeline {
  private constructor(private readonly parts: readonly LoadedPart[]) {}

  /**
   * Loads each part on its device. The event loop turns meanwhile.
   *
   * @throws VdError what a device throws, with its name; the parts that were loaded are then freed
   */
  static async open(parts: readonly FramePart[]): Promise<FramePipeline> {
    requireArgument("FramePipeline.open", parts, PARTS);
    const loading = await Promise.allSettled(parts.map(LoadedPart.load));
    const loaded = loading.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const failed = loading.find((each) => each.status === "rejected");
    if (!failed) return new FramePipeline(loaded);
    await Promise.allSettled(loaded.map((part) => part.free()));
    throw failed.reason;
  }

  /**
   * Takes one frame through all parts, behind those that were asked for before: returns the last part's `outputs` as bytes, by name. A part
   * goes on with the next frame as soon as the one behind it has its results. What `inputs` hold must not change until then.
   *
   * @throws VdError what a device throws, with its name
   */
  async frame(
    inputs: FrameInputs,
    outputs: readonly string[],
    variants: FrameVariants = {},
  ): Promise<Map<string, Uint8Array>> {
    let before: LoadedPart | undefined;
    let leave = () => {};
    try {
      for (const [i, part] of this.parts.entries()) {
        const next = await part.turns.enter();
        const leaveBefore = leave;
        leave = () => {
          leaveBefore();
          next();
        };
        if (before) await part.take(before, variants);
        leaveBefore();
        leave = next;
        await part.run(inputs[i], variants);
        before = part;
      }
      const bytes = await Promise.all(outputs.map((name) => before!.plan(variants).readBytes(name)));
      return new Map(outputs.map((name, i) => [name, bytes[i]!]));
    } finally {
      leave();
    }
  }

  /**
   * Makes a frame of each item of `source` and yields the last part's `outputs` as bytes, by name. As many frames as there are parts are
   * under way at a time: a slow reader stops the source. Leaving the loop waits for those under way.
   *
   * @throws VdError what a device throws, with its name, in the place of the frame that it was working on
   */
  async *frames(
    source: AsyncIterable<FrameInputs> | Iterable<FrameInputs>,
    outputs: readonly string[],
  ): AsyncGenerator<Map<string, Uint8Array>, void, undefined> {
    const underWay: Promise<Map<string, Uint8Array>>[] = [];
    try {
      for await (const inputs of source) {
        const frame = this.frame(inputs, outputs);
        frame.catch(() => undefined); // Told in its turn.
        underWay.push(frame);
        if (underWay.length >= this.parts.length) yield await underWay.shift()!;
      }
      while (underWay.length > 0) yield await underWay.shift()!;
    } finally {
      await Promise.allSettled(underWay);
    }
  }

  /** What the parts have done so far. The one that is busy longest decides how many frames a second there are. */
  stats(): FramePartStats[] {
    return this.parts.map(({ part, frames, busyMs }) => ({ name: part.name, device: part.on.label, frames, busyMs }));
  }

  /** Frees all parts; no frame may be under way. What lies on a device that was lost is gone. */
  async close(): Promise<void> {
    await Promise.allSettled(this.parts.map((part) => part.free()));
  }
}

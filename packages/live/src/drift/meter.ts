import { Device } from "@vd/kernels-native";
import { layoutGraph, Plan } from "@vd/tensor";
import { numbersOfLevels } from "../model/picture-levels";
import { type DriftAnchor, DriftHistory, driftMeasure } from "./measure";
import { recordDrift } from "./record";
import type { DriftMeasure } from "./types";

/** Measures finished frames on the CPU: for models whose frames come out of another program. */
export class DriftMeter {
  private readonly history = new DriftHistory();
  private readonly pixels: Float32Array;
  private anchor: DriftAnchor | undefined;

  private constructor(
    private readonly plan: Plan,
    length: number,
  ) {
    this.pixels = new Float32Array(length);
  }

  /**
   * Loads the rows that measure frames of one size.
   *
   * @throws VdError `memory`
   */
  static async open({ width, height }: { width: number; height: number }): Promise<DriftMeter> {
    const dims = [1, 1, height, width, 3];
    const layout = layoutGraph((g) => recordDrift(g, g.input("frame", dims, "f32"), g.input("before", dims, "f32")));
    return new DriftMeter(await Plan.load(Device.cpu({ threads: 1 }), layout, { name: "drift" }), 3 * width * height);
  }

  /** Measures a frame; the first one that is measured is what later ones are compared with. frame, before: [H,W,3] in 8 bits. */
  async measure(index: number, frame: Uint8Array, before: Uint8Array): Promise<DriftMeasure> {
    const { plan, pixels } = this;
    await plan.write("frame", numbersOfLevels(frame, pixels));
    await plan.write("before", numbersOfLevels(before, pixels));
    await plan.run();
    const measure = driftMeasure(index, (name) => plan.readSync(name), this.history, this.anchor);
    this.anchor ??= measure;
    return measure;
  }

  /** Begins anew: the next frame is what later ones are compared with. */
  clear(): void {
    this.history.clear();
    this.anchor = undefined;
  }

  /** Frees its memory. */
  free(): Promise<void> {
    return this.plan.free();
  }
}

import { allocateFloats, type Device, type DeviceBuffer, openDevice } from "@vd/kernels-native";
import { makeStorage, packedTensor } from "../graph";
import { layoutGraph } from "../plan/layout";
import { Plan } from "../plan/plan";
import { packedBytes } from "../tensor";

/** How rows are rounded. */
export interface RowRoundingOptions {
  /** Rows that are rounded at a time, and numbers of each. */
  rows: number;
  width: number;
  dtype: "f8e4m3" | "i8";
  /** Scales of a row: one, or one for each block of channels as `quantize` has them. */
  scales: number;
  /** The scale of all rows, where they share one. */
  shared?: number | undefined;
}

/** The processor's threads, opened when rows are first rounded. */
let cpu: Device | undefined;

/** Rounds rows to 8 bits by the CPU's `quantize`, off the event loop: on one thread of JavaScript a large model takes half a minute. */
export class RowRounding {
  private constructor(
    private readonly plan: Plan,
    /** Numbers of rows to round, which {@link round} takes. */
    readonly values: Float32Array,
    private readonly isShared: boolean,
  ) {}

  /** Prepares rounding. @throws VdError `memory` */
  static async open({ rows, width, dtype, scales: perRow, shared }: RowRoundingOptions): Promise<RowRounding> {
    cpu ??= openDevice("cpu");
    const dims = [1, 1, rows, width];
    const layout = layoutGraph((g) => {
      const out = packedTensor(makeStorage("arena", packedBytes(dims, dtype), "codes"), dims, dtype);
      const x = g.input("x", dims, "f32");
      if (shared !== undefined) {
        const scale = g.constant(Float32Array.of(shared), [1, 1, 1, 1]);
        g.output("codes", g.quantize({ name: "weights", x, scale, out }));
        return;
      }
      const scales = g.empty([1, 1, rows, perRow], "f32");
      g.output(
        "codes",
        g.quantize({ name: "weights", x, per: perRow > 1 ? "block" : "row", out, outputs: { scales } }),
      );
      g.output("scales", scales);
    });
    const plan = await Plan.load(cpu, layout, { name: "rounding" });
    return new RowRounding(plan, allocateFloats(rows * width), shared !== undefined);
  }

  /** Rounds the rows in {@link values}. → their own scales; codes lie behind until the next call, see {@link copyCodes}. */
  async round(): Promise<Float32Array> {
    await this.plan.write("x", this.values);
    await this.plan.run();
    return this.isShared ? new Float32Array() : this.plan.readSync("scales");
  }

  /** Puts the codes of the rows that were rounded at a byte of a buffer. */
  async copyCodes(target: DeviceBuffer, to: number): Promise<void> {
    await this.plan.copyOut("codes", target, { from: 0, to, bytes: this.values.length });
  }

  /** The codes of the rows that were rounded. */
  codes(): Promise<Uint8Array> {
    return this.plan.readBytes("codes");
  }

  free(): Promise<void> {
    return this.plan.free();
  }
}

import type { GraphWriter } from "../onnx/graph-writer";
import type { Sizes } from "./sizes";

/** How a value's elements lie in an ONNX tensor:
 *  `rows` [pixels, C], the order of memory; `planes` [B·F, C, H, W] for pictures; `clips` [B, C, F, H, W] for what goes
 *  over time. */
export type Form = "rows" | "planes" | "clips";

/** Sizes of a clip: B, F, H, W, without channels. */
export type ClipSizes = readonly [b: number, f: number, h: number, w: number];

/** A tensor of the recording as ONNX tensors: one in the form in which it was computed, others as they are asked for,
 *  each made once. */
export class Value {
  private readonly forms = new Map<string, string>();

  private constructor(
    private readonly writer: GraphWriter,
    private readonly sizes: Sizes,
    readonly channels: number,
    /** The form in which the value was computed. */
    readonly native: Form,
    name: string,
    /** Sizes of the clip, of values that were computed as pictures or clips. */
    readonly clipSizes: ClipSizes | undefined,
    /** The last dimension is a size of the clip, not channels: planes as they come in or go out. */
    private readonly endsInSize: boolean,
  ) {
    this.forms.set(clipSizes ? formKey(native, clipSizes) : "rows", name);
  }

  /** name: [pixels, channels]. */
  static rows(writer: GraphWriter, sizes: Sizes, name: string, channels: number, endsInSize = false): Value {
    return new Value(writer, sizes, channels, "rows", name, undefined, endsInSize);
  }

  /** name: [B·F, C, H, W] or [B, C, F, H, W]. */
  static picture(
    writer: GraphWriter,
    sizes: Sizes,
    name: string,
    channels: number,
    form: "planes" | "clips",
    clip: ClipSizes,
  ): Value {
    return new Value(writer, sizes, channels, form, name, clip, false);
  }

  /** [pixels, C]. */
  rows(): string {
    return this.cached("rows", () => {
      const clip = this.clipSizes!;
      const name = this.forms.get(formKey(this.native, clip))!;
      const last = this.writer.node("Transpose", [name], {
        perm: this.native === "planes" ? [0, 2, 3, 1] : [0, 2, 3, 4, 1],
      });
      return this.reshape(last, [-1, this.channels], [0, 1]);
    });
  }

  /** The elements in memory order under `dims`, which are channels, not sizes, from `literalFrom` on. */
  grid(dims: readonly number[], literalFrom = this.endsInSize ? dims.length : dims.length - 1): string {
    if (dims.length === 2 && dims[1] === this.channels && !this.endsInSize) return this.rows();
    const literal = dims.map((_, i) => i).slice(literalFrom);
    return this.cached(`grid:${dims.join(",")}`, () => this.reshape(this.rows(), dims, literal));
  }

  /** [B·F, C, H, W]. */
  planes(clip: ClipSizes): string {
    const [b, f, h, w] = clip;
    return this.cached(formKey("planes", clip), () => {
      const clips = this.forms.get(formKey("clips", clip));
      if (clips === undefined) return this.fromRows([b * f, h, w, this.channels], [0, 3, 1, 2]);
      const swapped = b === 1 ? this.firstAxesOfOneClip(clips) : undefined;
      const moved = swapped ?? this.writer.node("Transpose", [clips], { perm: [0, 2, 1, 3, 4] });
      return swapped ?? this.reshape(moved, [b * f, this.channels, h, w], [1]);
    });
  }

  /** [B, C, F, H, W]. */
  clips(clip: ClipSizes): string {
    const [b, f, h, w] = clip;
    return this.cached(formKey("clips", clip), () => {
      const planes = this.forms.get(formKey("planes", clip));
      if (planes === undefined) return this.fromRows([b, f, h, w, this.channels], [0, 4, 1, 2, 3]);
      const split = this.reshape(planes, [b, f, this.channels, h, w], [2]);
      return this.writer.node("Transpose", [split], { perm: [0, 2, 1, 3, 4] });
    });
  }

  /** The value in `form`. */
  as(form: Form, clip: ClipSizes): string {
    if (form === "rows") return this.rows();
    return form === "planes" ? this.planes(clip) : this.clips(clip);
  }

  /** [1, C, F, H, W] → [F, C, H, W]. */
  private firstAxesOfOneClip(clips: string): string {
    const one = this.writer.node("Squeeze", [clips, this.writer.ints([0])]);
    return this.writer.node("Transpose", [one], { perm: [1, 0, 2, 3] });
  }

  private fromRows(dims: readonly number[], perm: readonly number[]): string {
    const last = this.reshape(this.rows(), dims, [dims.length - 1]);
    return this.writer.node("Transpose", [last], { perm });
  }

  private reshape(name: string, dims: readonly number[], literal: readonly number[]): string {
    return this.writer.node("Reshape", [name, this.sizes.shape(dims, literal)]);
  }

  private cached(key: string, make: () => string): string {
    const known = this.forms.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.forms.set(key, made);
    return made;
  }
}

const formKey = (form: Form, clip: ClipSizes) => (form === "rows" ? "rows" : `${form}:${clip.join(",")}`);

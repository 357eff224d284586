import { fillNormals, sharedFloats } from "@vd/kernels-native";
import { CpuGenerator } from "@vd/tensor";

/** Frames of unit noise, as `torch.randn` draws them one after the other, each drawn on a worker thread while the frame before is
 *  denoised. */
export class NoiseStream {
  /** One is read while the other is drawn. */
  private readonly buffers: [Float32Array, Float32Array];
  private turn = 0;
  /** The generator before the draw that is under way or waiting. */
  private state: Uint32Array;
  private drawing: Promise<Uint32Array> | undefined;

  constructor(
    seed: number | bigint,
    readonly length: number,
  ) {
    this.buffers = [sharedFloats(length), sharedFloats(length)];
    this.state = new CpuGenerator(seed).saveState();
  }

  /** Begins to draw the next noise, unless it is being drawn. */
  drawAhead(): void {
    this.drawing ??= fillNormals(this.state, this.buffers[this.turn]!);
    // Whoever takes the noise hears of a failure.
    this.drawing.catch(() => undefined);
  }

  /** The next noise; its contents change with the call after the next one. */
  async next(): Promise<Float32Array> {
    this.drawAhead();
    this.state = await this.drawing!;
    this.drawing = undefined;
    const noise = this.buffers[this.turn]!;
    this.turn = 1 - this.turn;
    return noise;
  }

  /** The generator before the next noise: 624 words and the position of the next one. */
  save(): Uint32Array {
    return this.state.slice();
  }

  /** Goes on from a {@link save}d state. */
  async restore(state: Uint32Array): Promise<void> {
    await this.drawing?.catch(() => undefined);
    this.drawing = undefined;
    this.state = state.slice();
  }

  /** Waits for the draw under way. */
  async settle(): Promise<void> {
    await this.drawing?.catch(() => undefined);
  }
}

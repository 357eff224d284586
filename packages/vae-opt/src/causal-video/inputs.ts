import type { Device, DeviceBuffer } from "@vd/kernels-native";
import { makeStorage, type Plan, packedTensor, writeCheckedHost } from "@vd/tensor";

/** A block on the device to which the next piece's input goes while a piece runs. */
export class Inputs {
  private block: DeviceBuffer | undefined;
  private ahead: { values: Float32Array; arrived: Promise<number> } | undefined;

  /** bytes: of the largest input. */
  constructor(
    private readonly device: Device,
    private readonly bytes: number,
  ) {}

  /** Bytes of the block, once there is one. */
  get bytesTaken(): number {
    return this.block ? this.bytes : 0;
  }

  /** Begins to send what {@link put} takes next. The values must not change before {@link settle}, or that, has ended. */
  send(values: Float32Array): void {
    const arrived = this.write(values);
    arrived.catch(() => undefined); // It may fail before somebody waits for it.
    this.ahead = { values, arrived };
  }

  /**
   * Fills a plan's float32 input `name`, on the device if the values are there, and returns their largest magnitude, NaN where one is.
   *
   * @throws VdError `memory`
   */
  async put(plan: Plan, name: string, values: Float32Array): Promise<number> {
    const { ahead } = this;
    await this.settle();
    this.ahead = undefined;
    if (ahead?.values !== values) return plan.writeChecked(name, values);
    const largest = await ahead.arrived;
    await plan.copyIn(name, this.block!, { from: 0, to: 0, bytes: values.byteLength });
    return largest;
  }

  /** Waits until nothing is under way, whatever became of it. */
  async settle(): Promise<void> {
    await this.ahead?.arrived.catch(() => 0); // Who puts it somewhere hears of the error.
  }

  /** Frees the block, once nothing is under way. */
  async free(): Promise<void> {
    await this.settle();
    const { block } = this;
    [this.block, this.ahead] = [undefined, undefined];
    await block?.free();
  }

  private async write(values: Float32Array): Promise<number> {
    this.block ??= await this.device.allocate(this.bytes);
    const tensor = packedTensor(makeStorage("state", values.byteLength, "x"), [values.length], "f32");
    return writeCheckedHost(this.block, 0, tensor, values);
  }
}

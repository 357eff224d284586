import type { Device, DeviceBuffer } from "@vd/kernels-native";

/** Host memory for frames of maps, or of what pieces of a model hand on: frames that are given back serve others of their size, since memory that the device reads and writes itself
 *  takes time to prepare. It never holds more than was in use at once. */
export class HostFrames {
  private readonly idle: DeviceBuffer[] = [];
  private idleBytes = 0;
  private usedBytes = 0;
  private mostBytes = 0;

  constructor(private readonly device: Device) {}

  /**
   * Returns a frame of `bytes`, whose contents may be of another one.
   *
   * @throws VdError `memory`, `driver`
   */
  async take(bytes: number): Promise<DeviceBuffer> {
    const known = this.idle.findIndex((buffer) => buffer.bytes === bytes);
    const frame = known < 0 ? await this.allocate(bytes) : this.idle.splice(known, 1)[0]!;
    if (known >= 0) this.idleBytes -= bytes;
    this.usedBytes += bytes;
    return frame;
  }

  /** Takes a frame back. */
  giveBack(frame: DeviceBuffer): void {
    this.usedBytes -= frame.bytes;
    this.idleBytes += frame.bytes;
    this.idle.push(frame);
  }

  /** Bytes of frames that wait for their next use. */
  get bytesWaiting(): number {
    return this.idleBytes;
  }

  /** Frees what is not in use. */
  async free(): Promise<void> {
    this.mostBytes = this.usedBytes;
    while (this.idle.length > 0) await this.freeOldest();
  }

  /** Makes room by frames of other sizes. */
  private async allocate(bytes: number): Promise<DeviceBuffer> {
    this.mostBytes = Math.max(this.mostBytes, this.usedBytes + bytes);
    while (this.usedBytes + this.idleBytes + bytes > this.mostBytes) await this.freeOldest();
    return this.device.allocateHost(bytes);
  }

  private async freeOldest(): Promise<void> {
    const frame = this.idle.shift()!;
    this.idleBytes -= frame.bytes;
    await frame.free();
  }
}

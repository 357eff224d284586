import { type Device, type DeviceBuffer, requireFields } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import type { HostFrames } from "../host-frames";
import { FRAME_SIZE, type HostMap, type MapPart, type MapSize, mapBytes, rowBytes } from "./host-map";

/** What holds the frames of maps. */
export interface MapMemory {
  device: Device;
  /** Hears of bytes of the device's memory that were taken, or given back where there are fewer than none. */
  onDeviceBytes?: ((bytes: number) => void) | undefined;
}

interface HeldFrame {
  buffer: DeviceBuffer;
  isOnDevice: boolean;
}

/** Returns the bytes of a frame of a map. @throws VdError `attr` for what is no size */
export function frameBytes(size: MapSize): number {
  requireFields("frameBytes size", size, FRAME_SIZE);
  return mapBytes({ ...size, numFrames: 1 });
}

/** A feature map of a clip between two stages, frame by frame, channels last: the first frames on the device, the others in the machine's
 *  memory. */
export class ClipMap {
  private readonly frames: (HeldFrame | undefined)[];

  /** numOnDevice: frames for which the device has room. */
  constructor(
    readonly size: MapSize,
    private readonly memory: MapMemory & { hostFrames: HostFrames },
    private numOnDevice = 0,
  ) {
    this.frames = Array.from({ length: size.numFrames });
  }

  /** Moves frames, so that the first `count` are on the device and no others. */
  async keepOnDevice(count: number): Promise<void> {
    this.numOnDevice = count;
    const misplaced = [...this.frames.entries()].filter(([i, held]) => held && held.isOnDevice !== i < count);
    // What leaves the device makes room for what comes.
    for (const [i, held] of misplaced.sort(([a], [b]) => b - a)) {
      const moved = await this.allocate(i);
      try {
        await moved.buffer.copyFrom(held!.buffer, 0, 0, frameBytes(this.size));
      } catch (error) {
        await this.release(moved);
        throw error;
      }
      this.frames[i] = moved;
      await this.release(held!);
    }
  }

  /** Copies a part into a plan's input `name`, [1,f,rows,W,C]. */
  async copyTo(plan: Plan, name: string, part: MapPart): Promise<void> {
    await Promise.all(
      this.piecesOf(part).map(({ frame, inMap, inPart, bytes }) =>
        plan.copyIn(name, this.frames[frame]!.buffer, { from: inMap, to: inPart, bytes }),
      ),
    );
  }

  /** Puts a plan's output `name`, [1,f,rows,W,C], in its place. */
  async copyFrom(plan: Plan, name: string, part: MapPart): Promise<void> {
    for (let frame = part.frames[0]; frame < part.frames[1]; frame++) this.frames[frame] ??= await this.allocate(frame);
    await Promise.all(
      this.piecesOf(part).map(({ frame, inMap, inPart, bytes }) =>
        plan.copyOut(name, this.frames[frame]!.buffer, { from: inPart, to: inMap, bytes }),
      ),
    );
  }

  /** Lets go of frames. */
  async free([begin, end]: readonly [begin: number, end: number] = [0, this.frames.length]): Promise<void> {
    for (let frame = begin; frame < end; frame++) {
      const held = this.frames[frame];
      this.frames[frame] = undefined;
      if (held) await this.release(held);
    }
  }

  /** Reads all frames. */
  async read(): Promise<HostMap> {
    const frames: Uint8Array[] = [];
    for (const held of this.frames) frames.push(await held!.buffer.readBytes(0, frameBytes(this.size)));
    return { ...this.size, frames };
  }

  /** Takes the frames of a map that was read. */
  async write({ frames }: HostMap): Promise<void> {
    for (const [i, bytes] of frames.entries()) {
      this.frames[i] ??= await this.allocate(i);
      await this.frames[i].buffer.write(bytes);
    }
  }

  /** The runs of bytes of a part, one in each frame. */
  private piecesOf({ frames: [begin, end], rows: [from, to] }: MapPart) {
    const row = rowBytes(this.size);
    const bytes = (to - from) * row;
    return Array.from({ length: end - begin }, (_, i) => ({
      frame: begin + i,
      inMap: from * row,
      inPart: i * bytes,
      bytes,
    }));
  }

  private async allocate(frame: number): Promise<HeldFrame> {
    const bytes = frameBytes(this.size);
    if (frame >= this.numOnDevice) return { buffer: await this.memory.hostFrames.take(bytes), isOnDevice: false };
    const buffer = await this.memory.device.allocate(bytes);
    this.memory.onDeviceBytes?.(bytes);
    return { buffer, isOnDevice: true };
  }

  private async release({ buffer, isOnDevice }: HeldFrame): Promise<void> {
    if (!isOnDevice) return this.memory.hostFrames.giveBack(buffer);
    await buffer.free();
    this.memory.onDeviceBytes?.(-frameBytes(this.size));
  }
}

import type { BufferCopy, Device, DeviceBuffer } from "@vd/kernels-native";
import { writeHost } from "../host";
import { packedBytes, type Tensor } from "../tensor";

/** Two places for an input's next contents: one is filled while a run that began with the other may be under way. */
interface Places {
  buffers: [DeviceBuffer, DeviceBuffer];
  next: 0 | 1;
}

/** Contents of inputs for the run that begins next, which copies them to where its rows read them. */
export class Staging {
  private readonly places = new Map<string, Promise<Places>>();
  private copies = new Map<string, BufferCopy>();

  constructor(private readonly device: Device) {}

  /** Brings data for input `name` to the device. target: where rows read it. */
  async write(
    name: string,
    tensor: Tensor,
    target: { buffer: DeviceBuffer; byteOffset: number },
    data: ArrayLike<number>,
  ): Promise<void> {
    const bytes = packedBytes(tensor.dims, tensor.dtype);
    const known = this.places.get(name) ?? this.allocate(bytes);
    this.places.set(name, known);
    const places = await known;
    const source = places.buffers[places.next];
    places.next = places.next === 0 ? 1 : 0;
    await writeHost(source, 0, { ...tensor, byteOffset: 0 }, data);
    const to = target.byteOffset + tensor.byteOffset;
    this.copies.set(name, { target: target.buffer, to, source, from: 0, bytes });
  }

  /** What the next run copies first; it is forgotten then. */
  take(): BufferCopy[] {
    const copies = [...this.copies.values()];
    this.copies = new Map();
    return copies;
  }

  async free(): Promise<void> {
    const places = [...this.places.values()];
    this.places.clear();
    const settled = await Promise.allSettled(places);
    const buffers = settled.flatMap((each) => (each.status === "fulfilled" ? each.value.buffers : []));
    await Promise.all(buffers.map((buffer) => buffer.free()));
  }

  private async allocate(bytes: number): Promise<Places> {
    const first = await this.device.allocate(bytes, { cleared: false });
    return { buffers: [first, await this.device.allocate(bytes, { cleared: false })], next: 0 };
  }
}

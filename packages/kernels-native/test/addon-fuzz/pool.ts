import type { Addon, NativeBuffer, NativeDevice, NativeProgram } from "../../src/addon-types";
import type { EncodedCase } from "./encode-case";

/** A living object of the addon that is made anew once a call has used it up. */
class Slot<T extends object> {
  private value: T;

  constructor(private readonly make: () => T) {
    this.value = make();
  }

  get(): T {
    return this.value;
  }

  renew(): void {
    this.value = this.make();
  }
}

/** Objects of every kind and state, for calls to be made on and with. */
export class Pool {
  readonly buffers: Slot<NativeBuffer>[];
  readonly devices: NativeDevice[];
  readonly programs: NativeProgram[] = [];

  private constructor(
    readonly addon: Addon,
    file: string,
  ) {
    const freed = () => {
      const buffer = addon.allocateBuffer(64);
      buffer.freeSync();
      return buffer;
    };
    const makers = [() => addon.allocateBuffer(64), () => addon.allocateBuffer(5000), () => addon.mapFile(file), freed];
    this.buffers = makers.map((make) => new Slot(make));
    this.devices = [false, true].map((reference) =>
      addon.openDevice({ threads: 2, isa: "best", math: "exact", reference }),
    );
  }

  /** Makes the objects; `program` is compiled on every device, and once more to be freed at once. */
  static async make(addon: Addon, file: string, program: EncodedCase): Promise<Pool> {
    const pool = new Pool(addon, file);
    for (const device of [...pool.devices, pool.devices[0]!]) {
      const buffers = program.blocks.map(({ bytes, constant }) => ({ buffer: addon.allocateBuffer(bytes), constant }));
      pool.programs.push(
        await device.compile(Float64Array.from(program.words), { text: program.name, count: 1 }, buffers),
      );
    }
    pool.programs.at(-1)!.freeSync();
    return pool;
  }

  /** Makes freed and overwritten buffers anew. */
  renew(): void {
    for (const slot of this.buffers) slot.renew();
  }

  /** Every object with the functions and constructors it leads to: receivers and arguments alike. */
  everything(): unknown[] {
    const objects = [...this.buffers.map((slot) => slot.get()), ...this.devices, ...this.programs];
    const prototypes = objects.map((object) => Object.getPrototypeOf(object) as object);
    return [...objects, ...new Set(prototypes), ...new Set(objects.map((object) => object.constructor)), this.addon];
  }
}

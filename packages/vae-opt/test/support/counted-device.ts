import { type Device, type DeviceBuffer, VdError } from "@vd/kernels-native";
import { Plan } from "@vd/tensor";
import { vi } from "vitest";

/** What is taken of a {@link countedDevice}. */
export interface Counted {
  /** Bytes of blocks and of loaded plans' weights now, and at most since it was set to 0. */
  now: number;
  most: number;
  /** Bytes of host memory for the device now. */
  host: number;
  /** Blocks of it that were asked for. */
  hostCount: number;
  /** Blocks that were asked for. */
  count: number;
  /** Numbers of blocks, from 0, that are refused as by a device without memory. */
  refused: ReadonlySet<number>;
}

const { load } = Plan;

/** A device that counts the memory that is taken of it, weights of loaded plans included, which the CPU reads in place. `vi.restoreAllMocks` ends it. */
export function countedDevice(device: Device): { device: Device; counted: Counted } {
  const counted: Counted = { now: 0, most: 0, host: 0, hostCount: 0, count: 0, refused: new Set() };
  const take = (bytes: number) => {
    counted.now += bytes;
    counted.most = Math.max(counted.most, counted.now);
  };
  /** Counts what is taken until the first end. */
  const until = <T extends DeviceBuffer | Plan>(held: T, giveBack: () => void): T => {
    let isHeld = true;
    for (const name of ["free", "freeSync"] as const) {
      const end = held[name].bind(held) as () => Promise<void>;
      Object.defineProperty(held, name, {
        value: () => {
          if (isHeld) giveBack();
          isHeld = false;
          return end();
        },
      });
    }
    return held;
  };
  const own = Object.create(device) as Device;
  own.allocate = async (bytes: number) => {
    if (counted.refused.has(counted.count++)) {
      const refused = { where: "allocate", expected: `${bytes} bytes of free device memory`, got: "none" };
      throw new VdError({ code: "memory", ...refused });
    }
    const buffer = await device.allocate(bytes);
    take(bytes);
    return until(buffer, () => take(-bytes));
  };
  own.allocateHost = async (bytes: number) => {
    const buffer = await device.allocateHost(bytes);
    counted.host += bytes;
    counted.hostCount++;
    const giveBack = () => {
      counted.host -= bytes;
    };
    return until(buffer, giveBack);
  };
  for (const name of ["compile", "prepare", "trim", "memory"] as const)
    Object.defineProperty(own, name, { value: device[name].bind(device) });
  vi.spyOn(Plan, "load").mockImplementation(async (on, layout, options) => {
    const { weightBytes } = layout.memory;
    if (on !== own) return load.call(Plan, on, layout, options);
    take(weightBytes);
    try {
      return until(await load.call(Plan, on, layout, options), () => take(-weightBytes));
    } catch (error) {
      take(-weightBytes);
      throw error;
    }
  });
  return { device: own, counted };
}

import type { Device, DeviceBuffer } from "@vd/kernels-native";
import { expect, it } from "vitest";
import { HostFrames } from "../src/host-frames";

/** A device whose host memory is counted. */
function countedHost() {
  const counted = { now: 0, most: 0, allocated: 0 };
  const allocateHost = async (bytes: number) => {
    counted.allocated++;
    counted.now += bytes;
    counted.most = Math.max(counted.most, counted.now);
    const free = async () => {
      counted.now -= bytes;
    };
    return { bytes, free } as DeviceBuffer;
  };
  return { counted, device: { allocateHost } as unknown as Device };
}

it("uses frames again, and never holds more than was in use at once", async () => {
  const { counted, device } = countedHost();
  const frames = new HostFrames(device);
  const three = [await frames.take(100), await frames.take(100), await frames.take(100)];
  for (const frame of three) frames.giveBack(frame);
  const again = [await frames.take(100), await frames.take(100)];
  expect(counted).toEqual({ now: 300, most: 300, allocated: 3 });
  // Others need the room of the one that is idle, and of no more.
  const other = await frames.take(60);
  expect(counted).toEqual({ now: 260, most: 300, allocated: 4 });
  for (const frame of [...again, other]) frames.giveBack(frame);
  const large = await frames.take(280);
  expect(counted).toEqual({ now: 280, most: 300, allocated: 5 });
  frames.giveBack(large);
  await frames.free();
  expect(counted.now).toBe(0);
});

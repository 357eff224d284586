import type { Device } from "@vd/kernels-native";

/** Runs `work` while it asks the device every 5 ms how much memory it has left. → the least, and what `work` returned. */
export async function leastFree<T>(device: Device, work: () => Promise<T>): Promise<{ freeBytes: number; result: T }> {
  let [freeBytes, isRunning] = [Number.POSITIVE_INFINITY, true];
  const watch = async () => {
    while (isRunning) {
      freeBytes = Math.min(freeBytes, (await device.memory()).freeBytes);
      await new Promise((done) => setTimeout(done, 5));
    }
  };
  const watching = watch();
  try {
    const result = await work();
    return { result, freeBytes };
  } finally {
    isRunning = false;
    await watching;
  }
}

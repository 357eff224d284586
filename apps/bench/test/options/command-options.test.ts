import type { DeviceInfo } from "@vd/kernels-native";
import { expect, test } from "vitest";
import { readDevice } from "../../src/options/command-options";

const gpu = (usable: boolean) => ({ kind: "cuda", name: "GPU", usable, reason: usable ? "" : "too old" }) as DeviceInfo;
const machine =
  (...gpus: DeviceInfo[]) =>
  () =>
    gpus;

test("--device is what the help says: a kind, or what this machine has", () => {
  expect(readDevice("cpu", machine())).toBe("cpu");
  expect(readDevice("cuda", machine())).toBe("cuda");
  expect(readDevice("auto", machine())).toBe("cpu");
  expect(readDevice("auto", machine(gpu(false)))).toBe("cpu");
  expect(readDevice("auto", machine(gpu(true)))).toBe("cuda");
  expect(readDevice("cuda:0", machine(gpu(true)))).toBe("cuda");
});

test("a GPU that is not the first one, or not there, is refused with what to do", () => {
  expect(() => readDevice("cuda:1", machine(gpu(true), gpu(true)))).toThrow(
    "Set CUDA_VISIBLE_DEVICES=1, and choose cuda.",
  );
  expect(() => readDevice("cuda:2", machine(gpu(true)))).toThrow("one of the devices of this machine");
  expect(() => readDevice("tpu", machine())).toThrow("expected one of cpu, cuda");
});

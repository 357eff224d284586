import type { DeviceInfo } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { thrownBy } from "../../../../tooling/testing/failure";
import { chooseDevice } from "../../src/devices/choose-device";

const CPU: DeviceInfo = { kind: "cpu", name: "CPU", usable: true, reason: "8 cores." };
const gpu = (name: string, usable = true): DeviceInfo => ({ kind: "cuda", name, usable, reason: "it is too old." });
const choose = (name: Parameters<typeof chooseDevice>[0], ...gpus: DeviceInfo[]) =>
  chooseDevice(name, () => [CPU, ...gpus]);

describe("the device by its name", () => {
  it("is the first GPU that can be used, or the CPU, where it is left open", () => {
    expect(choose("auto")).toEqual({ kind: "cpu", index: 0 });
    expect(choose("auto", gpu("Old", false))).toEqual({ kind: "cpu", index: 0 });
    expect(choose("auto", gpu("Old", false), gpu("New"))).toEqual({ kind: "cuda", index: 1 });
  });

  it("is one of several GPUs by its number", () => {
    expect(choose("cuda:1", gpu("A"), gpu("B"))).toEqual({ kind: "cuda", index: 1 });
    expect(choose("cuda", gpu("A"), gpu("B"))).toEqual({ kind: "cuda", index: 0 });
    expect(choose("cpu", gpu("A"))).toEqual({ kind: "cpu", index: 0 });
  });

  it.each(["tpu", "tpu:1", "cpu:1", "cuda:", "cuda:-1", "cuda:1.0", "cuda:0:1", "CUDA", "", 0, null, undefined])(
    "is refused where it names none, and is no GPU: %j",
    (name) => {
      expect(thrownBy(() => choose(name as never, gpu("A"), gpu("B")))).toMatchObject({
        code: "attr",
        where: "device",
        expected: "cpu, cuda, cuda:0, cuda:1, … or auto",
      });
    },
  );

  it("is refused with the devices that there are", () => {
    expect(thrownBy(() => choose("cuda:2", gpu("A"), gpu("B", false)))).toMatchObject({
      code: "unsupported",
      where: "device",
      expected: "one of the devices of this machine: cpu, cuda:0 (A), cuda:1 (B, which cannot be used: it is too old.)",
      got: "cuda:2",
    });
    expect(thrownBy(() => choose("cuda:0"))).toMatchObject({ got: "cuda:0" });
  });
});

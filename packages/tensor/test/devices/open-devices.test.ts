import { describe, expect, test } from "vitest";
import { deviceLabel, isDeviceList, kindOfDevice } from "../../src/devices/device-list";
import { openDevices } from "../../src/devices/open-devices";

describe("a list of devices", () => {
  test("names GPUs by number or name, or the CPU, and never both kinds", () => {
    for (const good of [[0], [0, 1], ["cuda:0", 1], ["cpu"], ["cpu", "cpu"], ["3", "12"]])
      expect(isDeviceList(good)).toBe(true);
    for (const bad of [
      [],
      "cpu",
      ["cpu", 0],
      ["gpu"],
      [1.5],
      [-1],
      [100],
      ["cuda:"],
      ["cuda:123"],
      Array(17).fill(0),
      [null],
    ])
      expect(isDeviceList(bad)).toBe(false);
    expect([0, "1", "01", "cuda:2", "cpu"].map(deviceLabel)).toEqual(["cuda:0", "cuda:1", "cuda:1", "cuda:2", "cpu"]);
    expect(["cuda:7", "cpu"].map(kindOfDevice)).toEqual(["cuda", "cpu"]);
  });

  test("divides the CPU's threads, at least one for each", () => {
    const shown = (labels: string[], threads?: number) =>
      openDevices(labels, { threads }).map(({ label, device }) => [label, device.threads]);
    expect(shown(["cpu"], 3)).toEqual([["cpu", 3]]);
    expect(shown(["cpu", "cpu"], 3)).toEqual([
      ["cpu:0", 2],
      ["cpu:1", 1],
    ]);
    expect(shown(["cpu", "cpu", "cpu"], 1).map(([, threads]) => threads)).toEqual([1, 1, 1]);
  });
});

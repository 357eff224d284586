import { describe, expect, it } from "vitest";
import { formatBytes, formatDuration, formatFlops, formatRate } from "../../src/report/units";

describe("units", () => {
  it.each([
    [0, "0 ms"],
    [85_400, "85 ms"],
    [99_600, "0.10 s"],
    [4_204_000, "4.20 s"],
    [9_996_000, "10.0 s"],
    [59_940_000, "59.9 s"],
    [185_000_000, "3 min 05 s"],
    [3_599_900_000, "1 h 00 min"],
    [7_800_000_000, "2 h 10 min"],
  ])("%i µs is %s", (us, words) => {
    expect(formatDuration(us)).toBe(words);
  });

  it.each([
    [0, "0 B"],
    [900, "900 B"],
    [1024, "1.00 KiB"],
    [21_812, "21.3 KiB"],
    [1024 ** 2 - 1, "1.00 MiB"],
    [412 * 1024 ** 2, "412 MiB"],
    [7.94 * 1024 ** 3, "7.94 GiB"],
  ])("%d bytes is %s", (bytes, words) => {
    expect(formatBytes(bytes)).toBe(words);
  });

  it("counts work and pace", () => {
    expect(formatFlops(204e9)).toBe("204 GFLOP");
    expect(formatFlops(0)).toBe("0 FLOP");
    expect(formatRate(161_000)).toBe("6.21 it/s");
    expect(formatRate(2_500_000)).toBe("2.50 s/it");
  });
});

import type { Row } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { fastestStream, streamedSeconds, timelineSeconds } from "../../src/stages/stream-timeline";

describe("the timeline of streamed weights", () => {
  const second = { bytes: 10, seconds: 1 };

  it("lets rows wait for their weights, and a slot's next weights for its last rows", () => {
    // Copies of a second each: the first is waited for, the others come while rows compute.
    expect(timelineSeconds([second, second, second], 3, 10)).toBe(4);
    // Copies take twice as long as rows: all but the last row's time is theirs.
    expect(timelineSeconds([second, second, second], 3, 5)).toBe(7);
    // One slot: nothing comes ahead.
    expect(timelineSeconds([second, second, second], 1, 10)).toBe(6);
    expect(timelineSeconds([], 2, 10)).toBe(0);
  });

  it("fills slots ahead while rows with few weights compute", () => {
    const [few, many] = [
      { bytes: 0, seconds: 4 },
      { bytes: 20, seconds: 0 },
    ];
    expect(timelineSeconds([few, many, many], 3, 10)).toBe(4);
    expect(timelineSeconds([few, many, many], 2, 10)).toBe(6);
  });
});

describe("the size of slots", () => {
  /** Rows with a weight of their own each, [n] in float16. */
  const rows = (weights: readonly number[], flops: number): Row[] =>
    weights.map((count, id) => {
      const storage = { kind: "weights", id } as unknown;
      const dims = [count];
      return { inputs: [{ storage, byteOffset: 0, dims, pitch: count, dtype: "f16" }], flops } as unknown as Row;
    });
  const rates = { bytesPerSecond: 1e6, flopsPerSecond: 1e6 };

  it("is at least two of the largest weights, and is cut into eight at most", () => {
    const some = rows([500_000, 500_000, 500_000, 500_000], 1e6);
    // A second to copy each, a second to compute.
    expect(streamedSeconds(some, 1, rates)).toBe(5);
    // All in one of eight slots: nothing runs before everything has come.
    expect(streamedSeconds(some, 64e6, rates)).toBe(8);
  });

  it("is the fastest, not the largest that there is room for", () => {
    const some = rows(Array(16).fill(50_000), 1e5);
    expect(fastestStream(some, [12.8e6, 1.6e6, 0.8e6], rates)).toBe(0.8e6);
    // Of equal ones the first.
    expect(fastestStream(rows([], 1), [3, 2, 1], rates)).toBe(3);
  });
});

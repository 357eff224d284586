import { DeviceBuffer } from "@vd/kernels-native";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { WholeResult } from "../../src/causal-video/whole-result";
import type { CausalVideoAutoencoder, StreamPlan } from "../../src/index";
import { collect, cut, inTurns, noiseClip, openSmall } from "./support";

afterEach(() => void vi.restoreAllMocks());

describe("the result of a whole clip", () => {
  it("has a place for each frame, in one array", async () => {
    const whole = new WholeResult();
    whole.prepare([3, 2, 2, 3]);
    whole.place(0, 1).fill(1);
    whole.place(1, 2).fill(2);
    await whole.settle();
    const values = Float32Array.from({ length: 36 }, (_, i) => (i < 12 ? 1 : 2));
    expect(whole.clip).toEqual({ values, dims: [3, 2, 2, 3] });
    expect(whole.place(2, 1).buffer).toBe(whole.clip.values.buffer);
  });

  it("is refused where no array has so many numbers", () => {
    const dims = [2 ** 16, 2 ** 16, 2 ** 16, 3] as const;
    expect(() => new WholeResult().prepare(dims)).toThrow(expect.objectContaining({ name: "VdError" }));
  });
});

describe("decoding a whole clip", () => {
  const LATENTS = noiseClip([5, 20, 2, 4]);
  const WAYS: [name: string, plan: StreamPlan][] = [
    ["in pieces of one latent", cut(1, 4)],
    ["in pieces, the last one shorter", cut(3, 4)],
    ["in turns", inTurns(1, 2, 2)],
    ["in strips", cut(2, 4, 10)],
  ];
  let vae: CausalVideoAutoencoder;
  beforeAll(async () => {
    vae = await openSmall();
    return () => vae.close();
  });

  /** Arrays that results of the whole's length or of parts are read into. */
  function places(): (Float32Array | undefined)[] {
    const seen: (Float32Array | undefined)[] = [];
    const { readCheckedFloats } = DeviceBuffer.prototype;
    vi.spyOn(DeviceBuffer.prototype, "readCheckedFloats").mockImplementation(function (this: DeviceBuffer, ...args) {
      seen.push(args[1]);
      return readCheckedFloats.apply(this, args);
    });
    return seen;
  }

  it.each(WAYS)("gives what the stream's pieces are: %s", async (_, plan) => {
    const { values, dims } = await vae.decode(LATENTS, { plan });
    expect(dims).toEqual([17, 160, 16, 3]);
    expect(values).toEqual((await collect(vae.decodeStream(LATENTS, { plan }))).values);
  });

  it.each(WAYS.slice(0, 3))("reads each piece into its place: %s", async (_, plan) => {
    const seen = places();
    const { values } = await vae.decode(LATENTS, { plan });
    expect(seen.every((into) => into?.buffer === values.buffer)).toBe(true);
    const ends = seen.map((into) => into!.byteOffset + into!.byteLength);
    expect(seen.map((into) => into!.byteOffset)).toEqual([0, ...ends.slice(0, -1)]);
    expect(ends.at(-1)).toBe(values.byteLength);
  });

  it("leaves pieces of a stream arrays of their own", async () => {
    const seen = places();
    await collect(vae.decodeStream(LATENTS, { plan: cut(1, 4) }));
    expect(seen).toEqual(new Array(5).fill(undefined));
  });

  it("gives an array to each of two calls beside each other", async () => {
    const other = noiseClip([5, 20, 2, 4], 2);
    const [a, b] = await Promise.all([LATENTS, other].map((clip) => vae.decode(clip, { plan: cut(1, 4) })));
    expect(a!.values).toEqual((await vae.decode(LATENTS, { plan: cut(1, 4) })).values);
    expect(b!.values).toEqual((await vae.decode(other, { plan: cut(1, 4) })).values);
  });

  it.each(WAYS)("hands out nothing once it was cancelled, and works again: %s", async (_, plan) => {
    const { values } = await vae.decode(LATENTS, { plan });
    const controller = new AbortController();
    const { readCheckedFloats } = DeviceBuffer.prototype;
    let reads = 0;
    vi.spyOn(DeviceBuffer.prototype, "readCheckedFloats").mockImplementation(function (this: DeviceBuffer, ...args) {
      if (++reads === 2) controller.abort();
      return readCheckedFloats.apply(this, args);
    });
    await expect(vae.decode(LATENTS, { plan, signal: controller.signal })).rejects.toMatchObject({ code: "cancelled" });
    vi.restoreAllMocks();
    expect((await vae.decode(LATENTS, { plan })).values).toEqual(values);
  });

  it("names the frame of a result that is not finite", async () => {
    const { readCheckedFloats } = DeviceBuffer.prototype;
    let reads = 0;
    vi.spyOn(DeviceBuffer.prototype, "readCheckedFloats").mockImplementation(async function (
      this: DeviceBuffer,
      ...args
    ) {
      const read = await readCheckedFloats.apply(this, args);
      if (++reads !== 2) return read;
      const firstNotFinite = 2 * (160 * 16 * 3) + 1;
      read.values[firstNotFinite] = Number.NaN;
      return { ...read, firstNotFinite };
    });
    await expect(vae.decode(LATENTS, { plan: cut(1, 4) })).rejects.toMatchObject({
      ...{ code: "weights", message: expect.stringContaining("NaN in frame 3 ") },
    });
  });

  it.each(WAYS)("looks at what it is given: %s", async (_, plan) => {
    for (const wrong of [Number.NaN, 101]) {
      const values = LATENTS.values.slice();
      values[values.length - 1] = wrong;
      const call = vae.decode({ ...LATENTS, values }, { plan });
      await expect(call).rejects.toMatchObject({ code: "attr", message: expect.stringContaining(`got ${wrong}`) });
    }
  });
});

import { afterEach, describe, expect, it, vi } from "vitest";
import type { DirectionSessions } from "../../src/causal-video/direction-sessions";
import { noiseClip, openSmall, SMALL } from "./support";

interface Kept {
  encoding: DirectionSessions;
  decoding: DirectionSessions;
}
const latents = noiseClip([6, 4, 4, 4]);
const frames = noiseClip([9, 32, 32, 3]);
const SIZE = { height: 32, width: 32 };

async function opened(maxBytes?: number) {
  const vae = await openSmall(SMALL, maxBytes === undefined ? {} : { maxBytes });
  return { vae, kept: vae as unknown as Kept };
}

describe("encoding behind decoding", () => {
  it("keeps both directions' plans where both fit, and else lets go of the one that waits", async () => {
    const { vae: any } = await opened();
    const { encode, decode } = await any.plan(SIZE);
    const sum = encode.bytes + decode.bytes;
    for (const maxBytes of [sum, Math.max(encode.bytes, decode.bytes)]) {
      const { vae, kept } = await opened(maxBytes);
      const first = await vae.decode(latents);
      expect(kept.decoding.idleBytes).toBeGreaterThan(0);
      await vae.encode(frames);
      const held = kept.decoding.idleBytes + kept.encoding.idleBytes;
      expect(held).toBeLessThanOrEqual(maxBytes);
      expect(kept.decoding.idleBytes > 0).toBe(maxBytes === sum);
      expect(await vae.decode(latents)).toEqual(first);
      expect(kept.encoding.idleBytes > 0).toBe(maxBytes === sum);
      await vae.close();
    }
    await any.close();
  });
});

describe("a second clip", () => {
  afterEach(() => vi.restoreAllMocks());

  it("is cut like the first one, whose plans take what the device has to spare", async () => {
    const { vae, kept } = await opened();
    const { decode } = await vae.plan(SIZE);
    const available = vi.spyOn(process, "availableMemory").mockReturnValue(Math.ceil(decode.bytes / 0.9) + 1);
    await vae.decode(latents);
    const held = kept.decoding.idleBytes;
    available.mockReturnValue(Math.ceil(decode.bytes / 0.9) + 1 - held);
    expect((await vae.plan(SIZE)).decode).toEqual(decode);
    await vae.decode(latents);
    expect(kept.decoding.idleBytes).toBe(held);
    await vae.close();
  });
});

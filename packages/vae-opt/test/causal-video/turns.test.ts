import { openDevice } from "@vd/kernels-native";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { StreamMemory } from "../../src/causal-video/frame-memory";
import { layoutPiece, TURN_PARTS } from "../../src/causal-video/piece-layout";
import { turnBytes } from "../../src/causal-video/planning";
import { CausalVideoAutoencoder, type Clip } from "../../src/index";
import { countedDevice } from "../support/counted-device";
import { randomWeights } from "../support/random-weights";
import { collect, cut, inTurns, noiseClip, openSmall, piecesOf, SMALL } from "./support";

const vae = await openSmall();
afterAll(() => vae.close());
afterEach(() => void vi.restoreAllMocks());

const ways = fc.record({
  latents: fc.integer({ min: 1, max: 3 }),
  framesAtOnce: fc.constantFrom(1, 2, 4),
  turn: fc.integer({ min: 1, max: 4 }),
});
const slices = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 4 });

/** A machine without memory to spare has turns as short as the plan says. */
const withoutMemory = () => vi.spyOn(process, "availableMemory").mockReturnValue(0);

describe("both parts of the model in turns", () => {
  it("decode to the bits of the whole model: in one turn, in several, and of a stream", async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 7 }),
      slices,
      ways,
      async (length, ends, { latents, framesAtOnce, turn }) => {
        const clip = noiseClip([length, 2, 3, 4], length);
        const plan = inTurns(latents, framesAtOnce, turn);
        const whole = await vae.decode(clip, { plan: cut(latents, framesAtOnce) });
        expect(await vae.decode(clip, { plan })).toEqual(whole);
        expect((await collect(vae.decodeStream(piecesOf(clip, ends), { plan }))).values).toEqual(whole.values);
        withoutMemory();
        expect(await vae.decode(clip, { plan })).toEqual(whole);
        vi.restoreAllMocks();
      },
    );
    await fc.assert(property, { seed: 20251122, numRuns: 12 });
  });

  it("encode to the bits of the whole model, whatever becomes of the last frames", async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 15 }),
      slices,
      ways,
      fc.constantFrom("repeat" as const, "drop" as const),
      async (length, ends, { latents, framesAtOnce, turn }, lastFrames) => {
        const clip = noiseClip([length, 16, 24, 3], length);
        const plan = inTurns(latents, framesAtOnce, turn);
        const { mode, std } = await vae.encode(clip, { plan: cut(latents, framesAtOnce), lastFrames });
        expect(await vae.encode(clip, { plan, lastFrames })).toMatchObject({ mode, std });
        const streamed = await collect(vae.encodeStream(piecesOf(clip, ends), { plan, lastFrames }));
        expect(streamed.values).toEqual(mode);
      },
    );
    await fc.assert(property, { seed: 20251122, numRuns: 12 });
  });

  it("give frames turn by turn before a stream has ended", async () => {
    let asked = 0;
    async function* latents(): AsyncGenerator<Clip> {
      for (const piece of piecesOf(noiseClip([5, 2, 2, 4]), [1, 2, 3, 4])) {
        asked++;
        yield piece;
      }
    }
    const seen: [asked: number, frames: number][] = [];
    for await (const { dims } of vae.decodeStream(latents(), { plan: inTurns(1, 4, 2) })) seen.push([asked, dims[0]]);
    expect(seen).toEqual([2, 2, 4, 4, 5].map((count, i) => [count, i === 0 ? 1 : 4]));
  });

  it.each([
    ["decode", [6, 4, 6, 4]],
    ["encode", [9, 32, 48, 3]],
  ] as const)("take of the device what is planned, less than the whole model: %s", async (direction, dims) => {
    const { device, counted } = countedDevice(openDevice("cpu", { threads: 2 }));
    const own = await CausalVideoAutoencoder.fromWeights(randomWeights().weights, SMALL, { device });
    const shape = { latentsPerRun: 1, framesAtOnce: 1, height: 4, width: 6 };
    const { deviceBytes } = await turnBytes(own, direction, shape);
    const weights = TURN_PARTS[direction].map(async (part) => {
      const piece = { latents: 1, begins: false, stream: new StreamMemory() };
      return (await layoutPiece(own, direction, { ...shape, part }, piece)).memory.weightBytes;
    });
    // A part has two plans, with each of which its weights are counted.
    const twice = Math.max(...(await Promise.all(weights)));
    const most = async (plan: ReturnType<typeof cut>) => {
      counted.most = 0;
      await own[direction](noiseClip([...dims]), { plan });
      return counted.most;
    };
    const taken = await most(inTurns(1, 1, 8));
    expect([counted.now, counted.host]).toEqual([0, 0]);
    withoutMemory();
    const inSeveral = await most(inTurns(1, 1, 2));
    for (const bytes of [taken, inSeveral]) {
      expect(bytes - twice).toBeLessThanOrEqual(deviceBytes);
      // Planned are also the weights of the part whose turn it is not: they stay on a GPU.
      expect(1.3 * bytes).toBeGreaterThanOrEqual(deviceBytes);
    }
    expect(taken).toBeLessThan(await most(cut(1, 1)));
    await own.close();
    expect([counted.now, counted.host]).toEqual([0, 0]);
  });

  it.each(["cancelled", "closed", "left"])("hold nothing once they were %s midway, in either part", async (how) => {
    for (const piece of [0, 1, 2, 3, 4]) {
      const { device, counted } = countedDevice(openDevice("cpu", { threads: 2 }));
      const own = await CausalVideoAutoencoder.fromWeights(randomWeights().weights, SMALL, { device });
      const controller = new AbortController();
      let numFrames = 0;
      const stream = async () => {
        const clip = piecesOf(noiseClip([5, 2, 2, 4]), [1, 2, 3, 4]);
        const options = { plan: inTurns(1, 4, 2), signal: controller.signal };
        for await (const { dims } of own.decodeStream(clip, options)) {
          numFrames += dims[0];
          if (numFrames <= 4 * piece) continue;
          if (how === "left") break;
          if (how === "cancelled") controller.abort();
          else await own.close();
        }
      };
      const code = how === "cancelled" ? "cancelled" : "attr";
      if (how === "left") await stream();
      // Behind the last piece there is nothing left to stop.
      else if (piece < 4) await expect(stream()).rejects.toMatchObject({ code });
      else await stream();
      expect([counted.now, counted.host]).toEqual([0, 0]);
      await own.close();
      vi.restoreAllMocks();
    }
  });
});

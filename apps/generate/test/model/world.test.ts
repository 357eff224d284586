import { join, relative } from "node:path";
import { loadImage, type RgbImage } from "@vd/media";
import { describe, expect, it } from "vitest";
import { bundledModelFolder, bundledPicture } from "../../src/model/bundled";
import { pipelineFactory } from "../../src/model/factory";
import { modelSource } from "../../src/model/source";
import { LEAST_WORLD_DB, warnOfForeignPicture } from "../../src/model/world";
import { runCommand } from "../support/harness";

const { signal } = new AbortController();
const SIDE = 128;

/** A picture of colours by place. */
function draw(colour: (x: number, y: number) => readonly [number, number, number]): RgbImage {
  const data = new Uint8Array(3 * SIDE * SIDE);
  for (let i = 0; i < SIDE * SIDE; i++) data.set(colour(i % SIDE, Math.trunc(i / SIDE)), 3 * i);
  return { width: SIDE, height: SIDE, data };
}

const board = draw((x, y) => (((x >> 3) + (y >> 3)) % 2 === 0 ? [0, 0, 0] : [255, 255, 255]));

describe("warnOfForeignPicture", () => {
  const seen: string[] = [];
  const warn = async (model: string | undefined, image: string, db: number) => {
    const reconstructionSnr = async (folder: string) => {
      seen.push(folder);
      return db;
    };
    const source = await modelSource(model);
    return warnOfForeignPicture({ source, image, picture: board }, { reconstructionSnr }, signal);
  };

  it("names checkpoints for pictures of which the bundled autoencoder leaves little", async () => {
    const checkpoint = "--model stabilityai/stable-video-diffusion-img2vid-xt";
    expect(await warn(undefined, "cat.jpg", LEAST_WORLD_DB - 0.1)).toContain(checkpoint);
    expect(await warn(relative(process.cwd(), bundledModelFolder()), "cat.jpg", -3)).toContain(checkpoint);
    expect(await warn(undefined, "ball.png", LEAST_WORLD_DB)).toBeUndefined();
  });

  it("looks at no picture of other models, nor at the bundled picture", async () => {
    seen.length = 0;
    expect(await warn("owner/name", "cat.jpg", -3)).toBeUndefined();
    expect(await warn(undefined, bundledPicture(), -3)).toBeUndefined();
    expect(seen).toEqual([]);
  });

  it("tells the samples from other pictures by the real autoencoder", async () => {
    const ofPicture = async (image: string, picture: RgbImage) =>
      warnOfForeignPicture({ source: await modelSource(undefined), image, picture }, pipelineFactory, signal);
    const sample = join(bundledModelFolder(), "samples/two-balls-pinwheel.png");
    expect(await ofPicture(sample, await loadImage(sample))).toBeUndefined();
    expect(await ofPicture("board.png", board)).toContain("unlike it");
  });

  it("is heard before the video is made", async () => {
    const sample = join(bundledModelFolder(), "samples/two-balls.png");
    const run = (reconstructionSnr: number) => runCommand([sample, "--dry-run", "--json"], { reconstructionSnr });
    const kinds = async (db: number) => (await run(db)).events().map(({ event }) => event);
    expect(await kinds(2)).toEqual(["warning", "progress", "plan"]);
    expect(await kinds(20)).toEqual(["progress", "plan"]);
  });
});

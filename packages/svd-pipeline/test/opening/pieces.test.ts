import { expect, it } from "vitest";
import { openModelFolder } from "../../src/opening/folder";
import { makeModels } from "../../src/opening/models";
import { TINY_SVD } from "../support/tiny-model";

it("wires a model in pieces: a pause after each block of each network", async () => {
  const components = await openModelFolder(TINY_SVD);
  const numLevels = components.unet.config.blockOutChannels.length;
  const work = makeModels.inPieces(components);
  let pauses = 0;
  while (!work.next().done) pauses++;
  expect(pauses).toBeGreaterThanOrEqual(2 * numLevels + 3);
});

it("turns the event loop while a model is opened", async () => {
  let turns = 0;
  const turn = () => {
    turns++;
    handle = setImmediate(turn);
  };
  let handle = setImmediate(turn);
  const components = await openModelFolder(TINY_SVD);
  clearImmediate(handle);
  expect(turns).toBeGreaterThan(3);
  expect(makeModels(components).unet.config).toBe(components.unet.config);
});

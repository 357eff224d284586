import { expect, it } from "vitest";
import { faultsOf, tryDurability } from "./durability/durability";

const isLong = process.env.VD_LONG === "1";
const [numVideos, numKills, limitS] = isLong ? [200, 40, 1800] : [4, 2, 220];

it(
  "a server that is killed at any moment loses nothing and does nothing twice",
  async () => {
    const options = { numVideos, numKills, numWorkers: 2, limitS, tell: isLong ? console.log : () => {} };
    expect(faultsOf(await tryDurability(options), options)).toEqual([]);
  },
  (limitS + 60) * 1000,
);

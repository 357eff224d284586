import { parseArgs } from "node:util";
import { faultsOf, tryDurability } from "./durability";

// node --import tsx apps/studio/test/durability/main.ts [--videos 200] [--kills 40] [--workers 2] [--limit SECONDS]
const { values } = parseArgs({
  options: {
    videos: { type: "string", default: "200" },
    kills: { type: "string", default: "40" },
    workers: { type: "string", default: "2" },
    limit: { type: "string", default: "1800" },
  },
});
const options = {
  ...{ numVideos: Number(values.videos), numKills: Number(values.kills), numWorkers: Number(values.workers) },
  ...{ limitS: Number(values.limit), tell: console.log },
};
const faults = faultsOf(await tryDurability(options), options);
for (const fault of faults) console.error(`NOT KEPT: ${fault}`);
if (faults.length === 0)
  console.log(`${options.numVideos} videos, ${options.numKills} kills: nothing lost, nothing done twice.`);
process.exitCode = faults.length === 0 ? 0 : 1;

// Run by stand-in.test.ts in a process whose NVIDIA driver is the stand-in: tunes a plan and prints what happened.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { allocateBuffer, Device, isVdError } from "@vd/kernels-native";
import {
  type Graph,
  layoutGraph,
  makeStorage,
  Plan,
  type PlanOptions,
  packedTensor,
  type TuningEntry,
  type TuningTable,
  tunePlan,
} from "../../../src/index";

const [, , folder = ""] = process.argv;

/** A fatbin with nothing in it: the stand-in takes any image. */
function writeImage(name: string): void {
  const image = Buffer.alloc(32);
  image.writeUInt32LE(0xba55ed50, 0);
  image.writeUInt16LE(1, 4);
  image.writeUInt16LE(16, 6);
  image.writeBigUInt64LE(16n, 8);
  writeFileSync(join(folder, `${name}.fatbin`), image);
}

/** What a call threw, as plain data. */
async function failure(body: () => Promise<unknown>): Promise<unknown> {
  try {
    await body();
    return "nothing";
  } catch (error) {
    return isVdError(error) ? { code: error.code, message: error.message } : String(error);
  }
}

/** Two rows of one key with several variants, then one of another kind that has a single one. */
function build(g: Graph): void {
  const buffer = allocateBuffer(2 * 128 * 128);
  const storage = makeStorage("weights", 2 * 128 * 128, "weights", { buffer, byteOffset: 0 });
  const weight = packedTensor(storage, [128, 128], "f16");
  const first = g.linear({ name: "first", x: g.input("x", [1, 1, 1024, 128]), weight });
  const second = g.linear({ name: "second", x: first, weight });
  g.output("y", g.copy({ name: "third", x: second }));
}

writeImage("sm_80");
const device = Device.cuda({ imageDir: folder });
const layout = layoutGraph(build, { dtype: "f16" });

async function variantsOf(options: PlanOptions): Promise<string[]> {
  const plan = await Plan.load(device, layout, options);
  const { variants } = plan.info;
  plan.freeSync();
  return variants;
}

/** Names of the variants that the first row cannot have. */
async function rejectedOf(options: PlanOptions): Promise<string[]> {
  const plan = await Plan.load(device, layout, options);
  const names = plan.rejected[0]!.map(({ name }) => name);
  plan.freeSync();
  return names;
}

const passes: number[] = [];
let numFilled = 0;
const entries = await tunePlan(device, layout, {
  repeats: 2,
  fill: () => numFilled++,
  onProgress: ({ numRows }) => passes.push(numRows),
});
const tableOf = (some: Record<string, TuningEntry>, name = device.name): TuningTable => {
  return { device: name, driverVersion: "", kernelHash: "", entries: some };
};
const [key] = Object.keys(entries);
const controller = new AbortController();
const passesOfKnown: number[] = [];
const result = {
  entries,
  passes,
  numFilled,
  plain: await variantsOf({}),
  rejected: await rejectedOf({ explain: true }),
  unexplained: await rejectedOf({}),
  tuned: await variantsOf({ tuning: tableOf(entries) }),
  off: await variantsOf({ tuning: false }),
  captured: await variantsOf({ tuning: tableOf(entries), capture: true }),
  byHand: await variantsOf({ tuning: tableOf(entries), variants: ["linear_plain_f16", "", ""] }),
  stale: await variantsOf({ tuning: tableOf({ [key!]: { variant: "linear_mma_f16_m1n1", timesUs: {} } }) }),
  otherGuess: await variantsOf({
    tuning: tableOf({ [key!]: { ...entries[key!]!, timesUs: { linear_mma_f16_m1n1: 400 } } }),
  }),
  otherDevice: await failure(() => variantsOf({ tuning: tableOf(entries, "NVIDIA H200") })),
  known: await tunePlan(device, layout, { known: entries, onProgress: ({ pass }) => passesOfKnown.push(pass) }),
  passesOfKnown,
  cancelled: await failure(() =>
    tunePlan(device, layout, { signal: controller.signal, onProgress: () => controller.abort() }),
  ),
};
console.log(JSON.stringify(result));
process.exit(0);

// @vd/tensor without the pipeline: attention once eagerly and once planned, and its result as a safetensors file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Device } from "@vd/kernels-native";
import { CpuGenerator, compile, eager, openCheckpoint, writeSafetensors } from "@vd/tensor";

const device = Device.cpu();
const dims = [1, 1, 16, 64]; // clips, frames, tokens, channels
const numbers = new CpuGenerator(7).randn(16 * 64); // what torch.randn gives for this seed

// Eager: each call computes at once. For trying things out.
const e = eager(device);
const tokens = e.tensor(numbers, dims);
const atOnce = e.readSync(
  await e.ops.attention({ q: tokens, k: tokens, v: tokens, heads: 2, scale: 1 / Math.sqrt(32) }),
);

// Planned: recorded once, its memory known before it runs, run as often as needed.
const plan = await compile(device, (g) => {
  const x = g.input("x", dims);
  g.output("y", g.attention({ q: x, k: x, v: x, heads: 2, scale: 1 / Math.sqrt(32) }));
});
plan.writeSync("x", numbers);
await plan.run();
const planned = plan.readSync("y");
console.log(
  "same result:",
  planned.every((value, i) => value === atOnce[i]),
);
console.log("working memory:", plan.memory.peakBytes, "bytes");

const folder = mkdtempSync(join(tmpdir(), "vd-example-"));
const path = join(folder, "attention.safetensors");
writeSafetensors(path, [{ name: "y", dtype: "F32", shape: dims, data: planned }]);
const file = openCheckpoint(path);
console.log("in the file:", ...file.entries.keys());
file.close();
rmSync(folder, { recursive: true });

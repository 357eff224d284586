// @vd/svd-pipeline: a LoRA merged into a model and taken out again. The LoRA is made up here; a real one is a file from a trainer.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { writeSafetensors } from "@vd/tensor";

const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
const folder = mkdtempSync(join(tmpdir(), "vd-example-"));

// Rank 2 of a layer of 64 inputs and 64 outputs, in the names of PEFT.
const path = join(folder, "style.safetensors");
const layer = "unet.down_blocks.0.attentions.0.proj_out";
const waves = (count) => Float32Array.from({ length: count }, (_, i) => Math.sin(i) / 8);
writeSafetensors(path, [
  { name: `${layer}.lora_A.weight`, dtype: "F32", shape: [2, 64], data: waves(128) },
  { name: `${layer}.lora_B.weight`, dtype: "F32", shape: [64, 2], data: waves(128) },
]);

const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model);
const options = { image: join(model, "samples/one-ball.png"), numFrames: 2, steps: 2, maxGuidance: 1, seed: 42 };
const before = await pipeline.generate(options);
await pipeline.loadLoras([{ path, weight: 0.8 }]);
const changed = await pipeline.generate(options);
await pipeline.unloadLoras();
const after = await pipeline.generate(options);
console.log("changed by the LoRA:", Buffer.compare(changed.data, before.data) !== 0);
console.log("the same without it:", Buffer.compare(after.data, before.data) === 0);
pipeline.dispose();
rmSync(folder, { recursive: true });

import type { Command } from "commander";
import { choice, seed as readSeed } from "../options/values";
import type { CommandContext } from "../run";
import { PRESETS } from "../synth/configs";
import { makeModel } from "../synth/make-model";

/** `vd-bench make-model PRESET -o DIR --seed N`. */
export function addMakeModel(program: Command, { reporter, signal, stdout }: CommandContext): void {
  program
    .command("make-model")
    .description("write a model with random float16 weights in the standard folder layout")
    .argument("<preset>", `${PRESETS.join(", ")}: the shapes to make`)
    .requiredOption("-o, --output <DIR>", "the model's folder")
    .option("--seed <N>", "the same seed gives the same bytes", "0")
    .action(async (presetText: string, options: { output: string; seed: string }) => {
      const preset = choice("PRESET", PRESETS)(presetText);
      const seed = readSeed("--seed")(options.seed);
      const startMs = performance.now();
      const onProgress = (done: number, total: number) => reporter.progress(`writing ${preset}`, done, total);
      const bytes = await makeModel({ preset, dir: options.output, seed, signal, onProgress });
      const seconds = (performance.now() - startMs) / 1000;
      stdout.write(`${options.output}: ${preset}, ${(bytes / 1e9).toFixed(2)} GB in ${seconds.toFixed(1)} s\n`);
    });
}

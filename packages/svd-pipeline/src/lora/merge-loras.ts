import { firstOf, type LoraFile, type LoraModule, readLoraFile } from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import { type ChangeRow, nearestNames, type Weights } from "@vd/tensor";
import type { MergedLora, ModelComponents } from "../opening/components";
import { biasChange, lowRankChange } from "./low-rank-change";
import { moduleAliases } from "./module-names";

/** A LoRA to merge into a model. */
export interface LoraChoice {
  /** A .safetensors file in the names of PEFT, diffusers or kohya, or a folder with one. */
  path: string;
  /** How much of it; default 1. */
  weight?: number | undefined;
}

/** A LoRA that was read, and how much of it is wanted. */
export interface WeightedLora {
  file: LoraFile;
  weight: number;
}

/**
 * Reads LoRAs.
 *
 * @throws VdError as `readLoraFile`
 */
export async function readLoras(choices: readonly LoraChoice[], signal?: AbortSignal): Promise<WeightedLora[]> {
  const loras: WeightedLora[] = [];
  for (const { path, weight = 1 } of choices) loras.push({ file: await readLoraFile(path, signal), weight });
  return loras;
}

/** The changes of each weight, in the order of the LoRAs. */
class Changes {
  private readonly byName = new Map<string, ChangeRow[]>();

  add(name: string, change: ChangeRow): void {
    this.byName.set(name, [...(this.byName.get(name) ?? []), change]);
  }

  get all(): Map<string, ChangeRow> {
    const joined = (changes: readonly ChangeRow[]): ChangeRow => {
      return (numbers, row) => {
        for (const change of changes) change(numbers, row);
      };
    };
    return new Map([...this.byName].map(([name, changes]) => [name, joined(changes)]));
  }
}

function requireKnown({ path, modules }: LoraFile, aliases: ReadonlyMap<string, string>): void {
  const unknown = modules.filter(({ name }) => !aliases.has(name));
  const [first] = unknown;
  if (!first) return;
  const near = nearestNames(first.name, aliases.keys(), 1);
  throw new VdError({
    code: "weights",
    where: path,
    expected: "a LoRA of this model's UNet",
    got: `${unknown.length} of ${modules.length} modules that it does not have: ${firstOf(unknown.map(({ key }) => key))}`,
    hint: `The nearest name of the first is ${near}. The LoRA was trained for another model.`,
  });
}

function addModule(
  changes: Changes,
  weights: Weights,
  target: string,
  module: LoraModule,
  { file, weight }: WeightedLora,
) {
  const shapeOf = (name: string) => weights.entries.get(name)?.shape ?? [];
  changes.add(`${target}.weight`, lowRankChange(file.path, shapeOf(`${target}.weight`), module, weight));
  if (!module.bias) return;
  changes.add(`${target}.bias`, biasChange(file.path, shapeOf(`${target}.bias`), module, weight));
}

/**
 * Returns the model with LoRAs merged into the UNet's weights: W + Σ weight · alpha/rank · up · down, each in the type that the weight is
 * stored in. Sums are made when the weights are packed; the given components stay as they are. Source: https://arxiv.org/abs/2106.09685.
 *
 * @throws VdError `weights` naming keys that the model does not have and shapes that do not fit
 */
export function mergeLoras(components: ModelComponents, loras: readonly WeightedLora[]): ModelComponents {
  if (loras.length === 0) return components;
  const { weights, config } = components.unet;
  const aliases = moduleAliases(new Set(weights.entries.keys()));
  const changes = new Changes();
  for (const lora of loras) {
    requireKnown(lora.file, aliases);
    for (const module of lora.file.modules) addModule(changes, weights, aliases.get(module.name)!, module, lora);
  }
  const merged = loras.map(({ file: { path, sha256 }, weight }): MergedLora => ({ path, weight, sha256 }));
  return { ...components, unet: { config, weights: weights.withChanges(changes.all) }, loras: merged };
}

import { unetLayoutOfDiffusers } from "@vd/hub";
import { videoUnetNamePairs } from "../checkpoint/video-unet-names";

const withoutEnding = (name: string) => name.replace(/\.weight$/, "");

/** The names under which LoRAs know a UNet's modules, and the modules' own: those of the folder layout and the original ones, with
 *  dots as PEFT writes them and with underscores as kohya does. names: of the UNet's weights in the folder layout. */
export function moduleAliases(names: ReadonlySet<string>): Map<string, string> {
  const aliases = new Map<string, string>();
  const add = (alias: string, module: string) => {
    aliases.set(alias, module);
    aliases.set(alias.replaceAll(".", "_"), module);
  };
  for (const { original, diffusers } of videoUnetNamePairs(unetLayoutOfDiffusers(names))) {
    if (!diffusers.endsWith(".weight") || !names.has(diffusers)) continue;
    const module = withoutEnding(diffusers);
    add(withoutEnding(original), module);
    add(module, module);
  }
  return aliases;
}

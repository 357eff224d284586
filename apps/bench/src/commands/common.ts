import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { VdError } from "@vd/kernels-native";
import type { Command } from "commander";
import { ownOption, sharedOption } from "../options/command-options";

/** Values of options as commander gives them. */
export type Texts = Readonly<Record<string, string | boolean | undefined>>;

/** The text of an option that may be left out. */
export const textOf = (texts: Texts, name: string): string | undefined =>
  texts[name] === undefined ? undefined : String(texts[name]);

/** A file beside this program: in the sources, in the package, or in a pack. */
export function ownFile(folder: string, name: string): string {
  const places = ["../../", "../", "./"].map((up) => fileURLToPath(new URL(`${up}${folder}/${name}`, import.meta.url)));
  return places.find((path) => existsSync(path)) ?? places[0]!;
}

/** The peer's script, and that of SeedVR's own code. */
export const peerScript = (name: "diffusers_peer" | "seedvr_vae" = "diffusers_peer"): string =>
  ownFile("peers", `${name}.py`);

/**
 * The folder of the small model of this repository: installed, or beside a packed program.
 *
 * @throws VdError `io`
 */
export function bundledModel(): string {
  const packed = ownFile("../models", "tiny-svd/model_index.json");
  if (existsSync(packed)) return dirname(packed);
  try {
    const { resolve } = createRequire(import.meta.url);
    return join(resolve("@vd/model-tiny-svd/package.json"), "..");
  } catch (cause) {
    const expected = "the bundled model, the package @vd/model-tiny-svd";
    const hint = "Name a model with --model.";
    throw new VdError({ code: "io", where: "--model", expected, got: "no such package", hint, cause });
  }
}

/** Adds the options of generating with a model, with the model's own values where nothing is typed, on the CPU. */
export const withGenerateOptions = (command: Command): Command =>
  command
    .addOption(ownOption("model"))
    .addOption(sharedOption("device", "cpu"))
    .addOption(sharedOption("dtype"))
    .addOption(sharedOption("frames"))
    .addOption(sharedOption("size"))
    .addOption(sharedOption("steps"))
    .addOption(sharedOption("threads"))
    .addOption(ownOption("image"));

/** Adds how to find the peer. */
export const withPeer = (command: Command): Command =>
  command.addOption(ownOption("python")).addOption(ownOption("peerScript"));

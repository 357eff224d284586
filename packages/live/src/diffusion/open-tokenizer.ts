import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "@vd/hub";
import { requireText, VdError } from "@vd/kernels-native";
import { fileError } from "@vd/tensor";
import { type ClipTokenizer, clipTokenizer } from "../models/clip-text/index";

/** Bytes that each file may have: CLIP's own vocabulary has one mebibyte, its merges half of one. */
const MOST_BYTES = 16 * 2 ** 20;
const HINT =
  "CLIP's tokenizer is vocab.json and merges.txt, as every Stable Diffusion repository has them in its folder tokenizer.";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function readLines(path: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw fileError(path, "a tokenizer's merges", cause);
  }
  if (text.length > MOST_BYTES) {
    const expected = `at most ${MOST_BYTES} bytes`;
    throw new VdError({ code: "weights", where: path, expected, got: String(text.length) });
  }
  return text.split(/\r?\n/);
}

/** The text of a token as configurations write it: alone, or as an object with further settings. */
const textOf = (token: unknown): string | undefined => {
  const text = isObject(token) ? token.content : token;
  return typeof text === "string" ? text : undefined;
};

/** The token that fills texts up: version 2 of Stable Diffusion has another than version 1. */
async function padToken(folder: string): Promise<string | undefined> {
  for (const name of ["special_tokens_map.json", "tokenizer_config.json"]) {
    const path = join(folder, name);
    if (!existsSync(path)) continue;
    const pad = textOf((await readJson(path, HINT)).pad_token);
    if (pad !== undefined) return pad;
  }
  return undefined;
}

/**
 * Opens a folder with vocab.json and merges.txt. maxTokens: places of the text encoder; pad: the token that fills texts up where the
 * folder does not say.
 *
 * @throws VdError `io`, `weights`, or `attr` for what is no path
 */
export async function openTokenizer(folder: string, maxTokens: number, pad?: string): Promise<ClipTokenizer> {
  requireText("openTokenizer] [folder", folder, "the path of a tokenizer's folder");
  const vocab = await readJson(join(folder, "vocab.json"), HINT, MOST_BYTES);
  const odd = Object.entries(vocab).find(([, token]) => !Number.isInteger(token) || (token as number) < 0);
  if (odd) {
    const expected = "whole numbers by the tokens' texts";
    throw new VdError({ code: "weights", where: join(folder, "vocab.json"), expected, got: `${odd[0]}: ${odd[1]}` });
  }
  const merges = readLines(join(folder, "merges.txt"));
  const filler = (await padToken(folder)) ?? pad;
  return clipTokenizer({ vocab: vocab as Record<string, number>, merges, pad: filler, maxTokens });
}

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { requireText, VdError } from "@vd/kernels-native";
import { runInSlices, Weights } from "@vd/tensor";
import { type CausalVaeConfig, parseCausalVaeConfig, SEEDVR2_VAE_CONFIG } from "./config";

const CONFIG_FILE = "config.json";
/** Far more than a configuration has. */
const MAX_CONFIG_BYTES = 2 ** 20;

/** The configuration in a folder; undefined without one. */
async function readConfig(folder: string): Promise<CausalVaeConfig | undefined> {
  const path = join(folder, CONFIG_FILE);
  const info = await stat(path).catch(() => undefined);
  if (!info) return undefined;
  const fail = (expected: string, got: string, cause?: unknown): never => {
    throw new VdError({ code: "weights", where: path, expected, got, cause });
  };
  if (!info.isFile() || info.size > MAX_CONFIG_BYTES)
    fail(`a file of at most ${MAX_CONFIG_BYTES} bytes`, info.isFile() ? `${info.size} bytes` : "something else");
  let json: unknown;
  try {
    json = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    fail("JSON that can be read", (cause as Error).message, cause);
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) fail("a JSON object", typeof json);
  return parseCausalVaeConfig(json as Record<string, unknown>, path);
}

/**
 * Opens weights and finds the configuration: the one that is given, the folder's, or the published one.
 *
 * @throws VdError `attr` for what is no path, `io` or `weights`, `cancelled`
 */
export async function openWeights(
  path: string,
  { config, signal }: { config?: CausalVaeConfig | undefined; signal?: AbortSignal | undefined },
): Promise<{ weights: Weights; config: CausalVaeConfig }> {
  requireText("model", path, "the path of a .safetensors file, or of a folder with one");
  const weights = await runInSlices(Weights.open.inPieces(path), { signal, where: `opening ${path}` });
  return { weights, config: config ?? (await readConfig(path)) ?? SEEDVR2_VAE_CONFIG };
}

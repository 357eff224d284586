import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { requireArgument, requireOptions, TEXT, VdError } from "@vd/kernels-native";
import { withCallbacks } from "@vd/tensor";
import { isSafeRelativePath, parseHubModelName } from "./names";
import { type HubOptions, hubSettings } from "./settings";
import { downloadSnapshot } from "./snapshot";

/** Where a model lies: a folder or file, and the commit if it comes from the Hub. */
export interface ResolvedModel {
  dir: string;
  commit?: string;
}

const MODEL = { ...TEXT, expected: "a folder, a file or a model of the Hub as org/name" };

/**
 * Turns what a user calls a model into a path: an existing local folder or file is returned as it is; `org/name`,
 * `org/name@revision`, both with `hf:` in front too, or the address of the model's page is fetched from the Hugging Face
 * Hub into the cache that the Python tools use too.
 *
 * @throws VdError `attr` for a text that is neither, and what {@link downloadSnapshot} throws
 * @example
 * ```ts
 * import { resolveModel } from "@vd/hub";
 *
 * const { dir, commit } = await resolveModel("stabilityai/stable-video-diffusion-img2vid-xt", { dtype: "fp16" });
 * console.log(dir, commit);
 * ```
 */
export async function resolveModel(source: string, options: HubOptions = {}): Promise<ResolvedModel> {
  requireArgument("model", source, MODEL);
  requireOptions("resolveModel", options);
  if (await exists(source)) return { dir: resolve(source) };
  const settings = await hubSettings(options);
  const name = parseHubModelName(source, settings.endpoint);
  if (name === undefined) throw neitherError(source);
  const revision = chosenRevision(source, name.revision, options.revision);
  const { dir, commit } = await withCallbacks(options, ["onProgress", "onNotice"], source, async (watched) =>
    downloadSnapshot(await hubSettings(watched), name.repo, revision),
  );
  return { dir, commit };
}

function chosenRevision(source: string, inName: string | undefined, option: string | undefined): string {
  if (option !== undefined && !isSafeRelativePath(option)) {
    throw new VdError({
      code: "attr",
      where: "revision",
      expected: "a branch, tag or commit",
      got: `"${option}"`,
    });
  }
  if (inName !== undefined && option !== undefined && inName !== option) {
    throw new VdError({
      code: "attr",
      where: source,
      expected: "one revision",
      got: `"${inName}" in the name and "${option}" as option`,
    });
  }
  return inName ?? option ?? "main";
}

function neitherError(source: string): VdError {
  const isAddress = /^https?:/i.test(source);
  return new VdError({
    code: "attr",
    where: "model",
    expected: "the path of a folder or file that exists, or a Hub model as org/name or org/name@revision",
    got: `"${source}", which is neither`,
    hint: isAddress
      ? "Of addresses those of a model's page will do, https://huggingface.co/org/name; of another Hub with HF_ENDPOINT set. Download a single file and give its path."
      : `If you mean a local model, check the path: ${resolve(source)} does not exist.`,
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

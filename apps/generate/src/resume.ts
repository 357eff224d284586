import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { OutputTarget } from "@vd/media";
import { statIfThere } from "@vd/tensor";
import type { Context } from "./dependencies";
import { writeEvent } from "./report/json";
import type { Settings } from "./settings";

/** What a run with `--resume` goes on from. */
export interface Resuming {
  /** The folder of the state. */
  dir: string;
  /** With which the work was begun; undefined where it has not been. */
  seed: bigint | undefined;
}

/** Finds the state that `--resume` names: beside the output, unless it names a folder. Undefined without the option. */
export async function findState({
  resume,
  output,
}: Pick<Settings, "resume" | "output">): Promise<Resuming | undefined> {
  if (resume === false) return undefined;
  const dir = resume === true ? `${output.replace(/[/\\]+$/, "")}.resume` : resume;
  const { resumeState } = await import("@vd/svd-pipeline");
  return { dir, seed: (await resumeState(dir))?.seed };
}

/** True if nothing is left to do: the output is there, and no state of work that is under way. */
export async function isFinished(target: OutputTarget, { dir }: Resuming): Promise<boolean> {
  const isThere = await statIfThere(target.kind === "frames" ? resolve(target.folder, target.nameOf(0)) : target.path);
  const begun = await readdir(dir).catch(() => []);
  return isThere !== undefined && begun.length === 0;
}

/** Says that there was nothing to do. */
export function tellFinished(settings: Settings, { io, reporter }: Context): void {
  const { output, json, quiet } = settings;
  reporter.close();
  if (json) writeEvent(io, { event: "finished", output, path: resolve(output) });
  else if (!quiet) io.stdout.write(`${output} is finished. Without --resume it is made anew.\n`);
}

/** Removes the state of a video that is written. The video is there, whatever becomes of it: somebody else may work on it by now. */
export async function forgetState({ dir }: Resuming, { reporter }: Context): Promise<void> {
  const { removeState } = await import("@vd/svd-pipeline");
  await removeState(dir).catch((error: Error) => reporter.warning(`the state was not removed: ${error.message}`));
}

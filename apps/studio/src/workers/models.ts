import { createRequire } from "node:module";
import { cpus } from "node:os";
import { basename, dirname } from "node:path";
import { parseHubModelName } from "@vd/hub";
import type { OfferedModel } from "../http/studio";
import type { WorkSettings } from "../options/settings";
import type { ModelPlace } from "./messages";
import { WorkerProcess, type WorkerProgram } from "./worker-process";

/** What the bundled model is called. */
const BUNDLED = "tiny-svd";

const bundledFolder = () => dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));

/** Returns the places of the models that a server or a worker offers. */
export function modelPlaces({ model, device, threads, workers, gpus }: WorkSettings): ModelPlace[] {
  const share = gpus === undefined ? Math.max(1, Math.floor(cpus().length / Math.max(1, workers))) : undefined;
  const named = (text: string): ModelPlace => {
    const [, name, source = text] = /^([\w.-]+)=(.+)$/.exec(text) ?? [];
    const id = name ?? (source.includes("/") && !parseHubModelName(source) ? basename(source, ".safetensors") : source);
    return { id, source, device, threads: threads ?? share };
  };
  if (model === undefined) return [{ id: BUNDLED, source: bundledFolder(), device, threads: threads ?? share }];
  return model.split(",").map((text) => named(text.trim()));
}

/** Finds a model's place by its id. */
export function placeOf(places: readonly ModelPlace[], id: string): ModelPlace {
  const place = places.find((each) => each.id === id);
  if (place) return place;
  throw new Error(`The model ${id} is not offered here any more.`);
}

/** Makes the worker processes; each starts when its first video comes. */
export function makeWorkers(
  { workers, gpus }: Pick<WorkSettings, "workers" | "gpus">,
  program: WorkerProgram,
): WorkerProcess[] {
  const places = gpus === undefined ? [{}] : gpus.split(",").map((gpu) => ({ CUDA_VISIBLE_DEVICES: gpu }));
  const each = Array.from({ length: workers }, () => places).flat();
  return each.map((env) => new WorkerProcess({ ...program, env: { ...program.env, ...env } }));
}

/** Opens every model once to learn its defaults. @throws WorkError where one cannot be opened */
export async function offeredModels(places: readonly ModelPlace[], estimator: WorkerProcess): Promise<OfferedModel[]> {
  const models: OfferedModel[] = [];
  for (const place of places) {
    const defaults = await estimator.describe(place);
    const [owner, name] = parseHubModelName(place.source)?.repo.split("/") ?? [];
    models.push({ place, title: name ?? place.id, ownedBy: owner ?? "vd", createdAt: Date.now(), defaults });
  }
  return models;
}

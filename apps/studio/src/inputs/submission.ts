import { createHash } from "node:crypto";
import { Problem } from "../http/problem";
import { modelOf, type OfferedModel, type Studio } from "../http/studio";
import type { KeyRecord } from "../keys/key-store";
import type { NewVideo } from "../queue/video-queue";
import { PRIORITIES, type Priority, type VideoSettings, type WebhookState } from "../videos/record";
import { makeVideoId } from "../videos/video-id";
import type { GivenPicture } from "./picture";
import { PICTURE_FIELDS, type RequestFields } from "./request-fields";
import { type Fields, placementOf, requireKnownFields, SETTING_ROWS, settingsOf } from "./settings";

/** Fields beside the settings. */
const OWN_FIELDS = [
  "model",
  "prompt",
  "size",
  "seconds",
  "priority",
  "previewEvery",
  "profile",
  "webhook",
  "metadata",
] as const;
const KNOWN_FIELDS: readonly string[] = [...PICTURE_FIELDS, ...OWN_FIELDS, ...SETTING_ROWS.map(({ name }) => name)];

const MAX_METADATA = 16;
const MAX_TEXT = 512;
const MAX_PROMPT = 32_000;
const MAX_PREVIEW_EVERY = 1000;

const wrong = (field: string, expected: string) =>
  new Problem(400, "attr", `Expected ${field} to be ${expected}.`, field);

function metadataOf({ metadata }: Fields): Record<string, string> {
  if (metadata === undefined || metadata === null) return {};
  const isObject = typeof metadata === "object" && !Array.isArray(metadata);
  const entries = isObject ? Object.entries(metadata) : [];
  const fits = entries.every(
    ([name, text]) => name.length <= MAX_TEXT && typeof text === "string" && text.length <= MAX_TEXT,
  );
  if (!isObject || entries.length > MAX_METADATA || !fits)
    throw wrong("metadata", `an object of at most ${MAX_METADATA} texts of at most ${MAX_TEXT} characters`);
  return Object.fromEntries(entries);
}

function flag(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  if (value === true || value === "true") return true;
  if (value === false || value === "false") return false;
  throw wrong(name, "true or false");
}

function priorityOf({ priority = "normal" }: Fields): Priority {
  const found = PRIORITIES.find((each) => each === priority);
  if (!found) throw wrong("priority", `one of ${PRIORITIES.join(", ")}`);
  return found;
}

function previewEveryOf({ previewEvery = 1 }: Fields): number {
  const every = Number(previewEvery);
  if (!Number.isInteger(every) || every < 0 || every > MAX_PREVIEW_EVERY)
    throw wrong("previewEvery", `a whole number from 0 to ${MAX_PREVIEW_EVERY}`);
  return every;
}

function promptOf({ prompt }: Fields): string | null {
  if (prompt === undefined || prompt === null) return null;
  if (typeof prompt !== "string" || prompt.length > MAX_PROMPT)
    throw wrong("prompt", `a text of at most ${MAX_PROMPT} characters`);
  return prompt;
}

/** Returns the model and the settings that fields ask for. also: further fields that are taken. @throws Problem, VdError */
export function askedSettings(
  fields: Fields,
  studio: Studio,
  picture: { width: number; height: number } | undefined,
  also: readonly string[] = [],
): { model: OfferedModel; settings: VideoSettings } {
  requireKnownFields(fields, [...KNOWN_FIELDS, ...also]);
  const model = modelOf(studio.models, fields.model);
  return { model, settings: settingsOf(fields, { defaults: model.defaults, picture }) };
}

/** Checks a request for a video and returns what is to be queued. @throws Problem, VdError */
export function newVideo(
  fields: Fields,
  picture: GivenPicture | undefined,
  studio: Studio,
  caller: KeyRecord,
  webhook: WebhookState | null,
): NewVideo {
  const { model, settings } = askedSettings(fields, studio, picture?.info);
  if (!picture) throw new Problem(400, "image_missing", "A picture is needed: image, or input_reference.", "image");
  const { crop } = placementOf(picture.info, settings);
  return {
    ...{ id: makeVideoId(), owner: caller.id, createdAt: Date.now(), model: model.place.id, settings },
    ...{ prompt: promptOf(fields), picture: { ...picture.info, crop }, priority: priorityOf(fields) },
    ...{ previewEvery: previewEveryOf(fields), profile: flag(fields, "profile"), webhook },
    ...{ metadata: metadataOf(fields), source: picture.source },
  };
}

/** A fingerprint of a request's fields and file, whatever the order of its members. */
export function fingerprintOf({ fields, file }: RequestFields): string {
  const sorted = Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
  const hash = createHash("sha256").update(JSON.stringify(sorted));
  if (file) hash.update(file);
  return hash.digest("hex");
}

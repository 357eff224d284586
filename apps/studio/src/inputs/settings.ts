import { VdError } from "@vd/kernels-native";
import { fitPlacement, type PictureFit, parseFocus, type Rectangle } from "@vd/media";
import type { GenerateDefaults } from "@vd/svd-pipeline";
import {
  autoSize,
  checkValue,
  drawSeed,
  GENERATE_TABLE,
  type OptionTable,
  PUBLISHED_FACTOR,
  readSize,
  readText,
  type WrittenKind,
} from "@vd/svd-pipeline/options";
import type { VideoSettings } from "../videos/record";

/** An option that a client may set. */
export interface SettingRow {
  name: string;
  kind: WrittenKind;
  row: OptionTable[string];
}

/** Options that the API says in words of its own. */
const OWN_WORDS = new Set(["previewEvery", "outputType"]);

/** A text without a pattern may be a path of this machine, which is nothing for a client. */
const isSafe = (kind: OptionTable[string]["kind"]): kind is WrittenKind =>
  kind.kind !== "object" && kind.kind !== "booleanOrText" && (kind.kind !== "text" || kind.pattern !== undefined);

/** The options of a generation that a client may set: new rows of the option contract appear by themselves. */
export const SETTING_ROWS: readonly SettingRow[] = Object.entries(GENERATE_TABLE as OptionTable).flatMap(
  ([name, row]) => (isSafe(row.kind) && !OWN_WORDS.has(name) ? [{ name, kind: row.kind, row }] : []),
);

/** Fields of a request by name: JSON values, or texts of a form. */
export type Fields = Readonly<Record<string, unknown>>;

/** What settings follow from. */
export interface SettingsContext {
  defaults: GenerateDefaults;
  /** The picture's size; undefined where none is known yet. */
  picture: { width: number; height: number } | undefined;
}

/** A text from a form, or a seed as JSON writes it, counts as what it stands for. */
function settle({ name, kind }: SettingRow, given: unknown): unknown {
  const isTyped = typeof given === "string" && kind.kind !== "choice" && kind.kind !== "text";
  if (isTyped) return readText(kind, given, name);
  return checkValue(kind, name, given, PUBLISHED_FACTOR);
}

const number = (name: string, given: unknown, min: number, max: number): number =>
  settle(
    { name, kind: { kind: "real", min, max }, row: { kind: { kind: "real", min, max }, doc: "" } },
    given,
  ) as number;

const MAX_SECONDS = 600;

/** Sizes and lengths as OpenAI says them. */
function fromOpenAi({ size, seconds }: Fields, fps: number): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  if (size === "auto") given.autoSize = true;
  else if (size !== undefined) {
    const [width, height] = readSize({ kind: "side", max: 16_384 }, String(size), "size");
    Object.assign(given, { width, height });
  }
  if (seconds !== undefined)
    given.numFrames = Math.max(1, Math.round(number("seconds", seconds, 0, MAX_SECONDS) * fps));
  return given;
}

/**
 * Returns all settings of a video, checked and with defaults: what is sent back makes the same video again.
 *
 * @throws VdError `attr` naming the field
 */
export function settingsOf(fields: Fields, { defaults, picture }: SettingsContext): VideoSettings {
  const given: Record<string, unknown> = {};
  for (const row of SETTING_ROWS) {
    const value = fields[row.name];
    if (value !== undefined && value !== null) given[row.name] = settle(row, value);
  }
  const fps = (given.fps as number | undefined) ?? defaults.fps;
  const typed = { ...fromOpenAi(fields, fps), ...given };
  const fixed = Object.fromEntries(
    SETTING_ROWS.flatMap(({ name, row }) => (row.default?.kind === "always" ? [[name, row.default.value]] : [])),
  );
  const { autoSize: isAuto, ...merged } = { ...fixed, ...defaults, ...typed } as Record<string, unknown> &
    GenerateDefaults & { autoSize?: boolean };
  const size = isAuto && picture ? autoSize(picture, merged, PUBLISHED_FACTOR) : {};
  const seed = String(typed.seed ?? drawSeed());
  const settings = { ...merged, ...size, seed } as VideoSettings;
  if (typed.sigmas !== undefined && typed.steps === undefined) return withoutSteps(settings);
  return settings;
}

/** Noise levels decide the number of steps. */
function withoutSteps({ steps: _, ...settings }: VideoSettings & { steps?: unknown }): VideoSettings {
  return settings as VideoSettings;
}

/** Returns the part of a picture that a video uses, and where it lies in the frame. @throws VdError `attr` */
export function placementOf(
  picture: { width: number; height: number },
  settings: VideoSettings,
): { crop: Rectangle; placed: Rectangle } {
  const focus = parseFocus(String(settings.focus ?? "center"));
  return fitPlacement(picture, settings.width, settings.height, { fit: settings.fit as PictureFit, focus });
}

/** Refuses fields that nobody knows, so that a slip of the pen is not taken for a default. @throws VdError `attr` */
export function requireKnownFields(fields: Fields, known: readonly string[]): void {
  const stranger = Object.keys(fields).find((name) => !known.includes(name));
  if (stranger === undefined) return;
  throw new VdError({
    ...{ code: "attr", where: stranger, expected: `one of ${known.join(", ")}`, got: `a field "${stranger}"` },
    hint: "GET /v1/options lists the settings.",
  });
}

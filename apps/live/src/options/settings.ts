import type { OptionTable, ValueOf, WrittenKind } from "@vd/svd-pipeline/options";
import type {
  BENCH_TABLE,
  CLIP_TABLE,
  DRIFT_TABLE,
  GAME_TABLE,
  INPUT_TABLE,
  OUTPUT_TABLE,
  PICTURE_TABLE,
} from "./tables";

/** The checked values of a table's options; those without a default of the table's may be undefined. */
type SettingsOf<T extends OptionTable> = {
  [K in keyof T]: T[K]["kind"] extends infer W extends WrittenKind
    ? ValueOf<W> | (T[K] extends { default: { kind: "always" } } ? never : undefined)
    : never;
};

/** The options of a game. */
export type GameSettings = SettingsOf<typeof GAME_TABLE>;

/** The options of models of pictures. */
export type PictureSettings = SettingsOf<typeof PICTURE_TABLE>;

/** The options of models of clips. */
export type ClipSettings = SettingsOf<typeof CLIP_TABLE>;

/** The options of playing. */
export type PlaySettings = GameSettings &
  PictureSettings &
  ClipSettings &
  SettingsOf<typeof INPUT_TABLE> &
  SettingsOf<typeof OUTPUT_TABLE>;

/** The options of `bench`. */
export type BenchSettings = SettingsOf<typeof BENCH_TABLE>;

/** The options of `drift`. */
export type DriftSettings = SettingsOf<typeof DRIFT_TABLE>;

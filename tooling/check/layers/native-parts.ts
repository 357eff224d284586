/** A part of the native code and the other parts that its files may include. */
export interface NativePart {
  name: string;
  /** Which files belong to it, by their path in packages/kernels-native. */
  files: RegExp;
  may: readonly string[];
}

const part = (name: string, files: RegExp, may = ""): NativePart => ({
  name,
  files,
  may: may.split(" ").filter(Boolean),
});

/** Every part of the native code; a file belongs to the first that fits. Files of one part may include each other, those
 *  of an op's folder only within that folder. Values are plain data that device code, drivers and generated headers share. */
export const NATIVE_PARTS: readonly NativePart[] = [
  part("test", /^test\//, "binding cpu cuda planning planners core driver op device values generated"),
  part("planners", /^native\/generated\/op_planners\.h$/, "planning generated"),
  part("generated", /^native\/generated\//, "values op"),
  part("values", /^native\/core\/(error|tensor|row)\.h$/, "generated"),
  part("driver", /^native\/driver\//, "values generated"),
  part("core", /^native\/core\//, "values generated"),
  part("device", /^device\//, "values generated"),
  part("cpu", /^native\/cpu\//, "core driver values generated"),
  part("planning", /^native\/cuda\/planning\//, "planners core device values generated"),
  part("cuda", /^native\/cuda\//, "planning core device driver values generated"),
  part("binding", /^native\/binding\//, "cpu cuda planning core driver values generated"),
  part("device code of an op", /^ops\/[^/]+\/.*\.cuh?$/, "device values generated"),
  part("op", /^ops\//, "cpu planning planners core device values generated"),
];

/** The part that a file belongs to, by its path in packages/kernels-native; undefined if no rule names it. */
export function partOf(path: string): NativePart | undefined {
  return NATIVE_PARTS.find(({ files }) => files.test(path));
}

/** The folder of the op that a file belongs to, e.g. `ops/conv`. */
export function opFolderOf(path: string): string | undefined {
  return /^ops\/[^/]+(?=\/)/.exec(path)?.[0];
}

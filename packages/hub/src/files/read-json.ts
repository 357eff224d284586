import { readFile } from "node:fs/promises";
import { VdError } from "@vd/kernels-native";

/**
 * Reads a JSON object from a file. hint: what to do about one that cannot be read.
 * @throws VdError `io` if it cannot be read, `weights` if it is no JSON object.
 */
export async function readJson(path: string, hint?: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw new VdError({
      code: "io",
      where: path,
      expected: "a readable configuration file",
      got: missing ? "no such file" : (cause as Error).message,
      hint,
      cause,
    });
  }
  return parseObject(path, text);
}

/** Python writes numbers that JSON does not have; as strings they reach whoever knows what they mean. */
function withPythonNumbers(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (token) => (token.startsWith('"') ? token : `"${token}"`));
}

function parseObject(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(withPythonNumbers(text));
  } catch (cause) {
    throw new VdError({ code: "weights", where: path, expected: "JSON", got: (cause as Error).message, cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new VdError({
    code: "weights",
    where: path,
    expected: "a JSON object",
    got: JSON.stringify(value).slice(0, 40),
  });
}

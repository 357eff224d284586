import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpId } from "@vd/kernels-native";
import { ROOT } from "../build/workspace.mjs";

/** Prints the page of an op, as `pnpm gen` wrote it. */
export async function showOp(id: OpId): Promise<number> {
  const page = readFileSync(join(ROOT, `docs/ops/${id}.md`), "utf8");
  console.log(page.replace(/^<!--.*-->\n/, "").trimEnd());
  return 0;
}

import { readdirSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Fixture, GoldenKind } from "../kind";

/** What the files beside this one offer. */
export interface KindRegistry {
  readonly kinds: readonly GoldenKind[];
  /** Files that could not be loaded, with the reason; their kinds must not pass for unknown ones. */
  readonly broken: readonly { file: string; error: unknown }[];
}

function isKind(value: unknown): value is GoldenKind {
  const candidate = value as Partial<GoldenKind> | null;
  return typeof candidate === "object" && typeof candidate?.kind === "string" && typeof candidate.run === "function";
}

/**
 * Loads every .ts file of `folder` (this one by default) and collects the golden kinds among its exports: a file put
 * there needs no line anywhere else.
 */
export async function loadKinds(folder = new URL(".", import.meta.url)): Promise<KindRegistry> {
  const kinds: GoldenKind[] = [];
  const broken: { file: string; error: unknown }[] = [];
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts") && name !== "index.ts");
  for (const file of files.sort()) {
    try {
      const url = pathToFileURL(fileURLToPath(new URL(file, folder)));
      const exported: Record<string, unknown> = await import(url.href);
      kinds.push(...new Set(Object.values(exported).filter(isKind)));
    } catch (error) {
      broken.push({ file, error });
    }
  }
  return { kinds, broken };
}

/** The kind that checks `fixture`: by its JSON's `kind`, or by the kinds' own test where the JSON has none. */
export function findKind(kinds: readonly GoldenKind[], fixture: Fixture): GoldenKind | undefined {
  const named: unknown = fixture.json.kind;
  if (named !== undefined) return kinds.find(({ kind }) => kind === named);
  return kinds.find((kind) => kind.matches?.(fixture));
}

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The committed fixtures. */
export const committed = fileURLToPath(new URL("../../../fixtures", import.meta.url));

/** A folder of its own for one test file, to put fixtures into. */
export class FixtureFolder {
  readonly path = mkdtempSync(join(tmpdir(), "vd-goldens-"));

  write(name: string, content: string | Uint8Array): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Copies both files of a committed fixture to `to` (a stem); returns the JSON's path. */
  copy(from: string, to: string): string {
    const target = join(this.path, to);
    mkdirSync(dirname(target), { recursive: true });
    for (const ending of [".json", ".safetensors"]) copyFileSync(join(committed, from + ending), target + ending);
    return `${target}.json`;
  }

  /** A fixture with this JSON and one tensor `out.x`, U8 [2], of 1 and 2; returns the JSON's path. */
  tiny(stem: string, json: unknown): string {
    const header = JSON.stringify({ "out.x": { dtype: "U8", shape: [2], data_offsets: [0, 2] } });
    const bytes = Buffer.alloc(8 + header.length + 2);
    bytes.writeBigUInt64LE(BigInt(header.length));
    bytes.write(header, 8);
    bytes.set([1, 2], 8 + header.length);
    this.write(`${stem}.safetensors`, bytes);
    return this.write(`${stem}.json`, typeof json === "string" ? json : JSON.stringify(json));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

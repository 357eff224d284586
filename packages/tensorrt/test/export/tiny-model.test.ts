import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openCheckpoint } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { type ExportProgress, exportModel, PARTS, partPath, readModel } from "../../src/index";
import { decodeModel } from "../../src/onnx/schema";
import { failureOf } from "../support/failure";
import { TINY } from "../support/fixtures";
import { writeSingleFile } from "../support/single-file";
import { temporaryFolder } from "../support/temporary-folder";

const FOLDERS = { unet: "unet", "vae-encoder": "vae", "vae-decoder": "vae", clip: "image_encoder" } as const;

/** Weights that an export of the same function does not need: a softmax over one key is 1, whatever q and k say. */
const isFolded = (name: string) =>
  /\.attn2\.to_[qk]\.weight$|\.attn2\.norm|norm2\.(weight|bias)$|mix_factor$/.test(name);

describe("the tiny model's export", () => {
  it("has the checkpoint's weights under the checkpoint's names, byte for byte", async () => {
    const dir = temporaryFolder();
    await exportModel(TINY, dir, { precision: "fp16" });
    const found = new Map<string, Set<string>>();
    for (const part of PARTS) {
      const checkpoint = openCheckpoint(join(TINY, FOLDERS[part]));
      const data = readFileSync(`${partPath(dir, part)}.data`);
      const { graph } = decodeModel(readFileSync(partPath(dir, part)));
      for (const { name, rawData, externalData = [], dims } of graph.initializer) {
        const entry = checkpoint.entries.get(name);
        if (!entry) continue;
        const { offset = 0, length = 0 } = Object.fromEntries(
          externalData.map(({ key, value }) => [key, Number(value)]),
        );
        const bytes = rawData ?? data.subarray(offset, offset + length);
        expect(Buffer.compare(Buffer.from(bytes), entry.file.readBytes(name)), name).toBe(0);
        expect(dims, name).toEqual(entry.entry.shape);
        const names = found.get(FOLDERS[part]) ?? new Set();
        found.set(FOLDERS[part], names.add(name));
      }
      checkpoint.close();
    }
    for (const folder of new Set(Object.values(FOLDERS))) {
      const checkpoint = openCheckpoint(join(TINY, folder));
      const left = [...checkpoint.entries.keys()].filter((name) => !found.get(folder)!.has(name) && !isFolded(name));
      expect(left.filter((name) => !name.endsWith("position_ids"))).toEqual([]);
      checkpoint.close();
    }
  });

  it("is the same from a checkpoint in one file with the original names", async () => {
    const dir = temporaryFolder();
    const file = join(dir, "svd.safetensors");
    writeSingleFile(file);
    const size = { parts: PARTS, frames: 2, width: 64, height: 64, precision: "fp16" } as const;
    await exportModel(file, join(dir, "file"), size);
    await exportModel(TINY, join(dir, "folder"), size);
    for (const part of PARTS)
      for (const suffix of ["", ".data"]) {
        const bytes = (from: string) => readFileSync(partPath(join(dir, from), part) + suffix);
        expect(Buffer.compare(bytes("file"), bytes("folder")), part + suffix).toBe(0);
      }
  });

  it("says what it takes and gives, with free sizes by name", async () => {
    const dir = temporaryFolder();
    const parts = ["unet", "vae-decoder"] as const;
    await exportModel(TINY, dir, { parts, dynamic: ["batch", "frames", "size"], opset: 21 });
    const { inputs, opset, metadata } = await readModel(partPath(dir, "unet"));
    expect(inputs.map(({ name, axes }) => [name, ...axes])).toEqual([
      ["sample", "batch", "frames", 8, "height", "width"],
      ["timestep", 1],
      ["encoder_hidden_states", "batch", 1, 128],
      ["added_time_ids", "batch", 3],
    ]);
    expect(opset).toBe(21);
    expect(metadata["vd.precision"]).toBe("fp32");
    const { outputs } = await readModel(partPath(dir, "vae-decoder"));
    expect(outputs[0]!.axes).toEqual(["batch", "frames", 3, "8*height", "8*width"]);
  });

  it("reports rows, then bytes, up to all of them", async () => {
    const events: ExportProgress[] = [];
    await exportModel(TINY, temporaryFolder(), { parts: ["clip"], onProgress: (event) => events.push(event) });
    for (const stage of ["graph", "weights"] as const) {
      const last = events.filter((event) => event.stage === stage).at(-1)!;
      expect(last.done, stage).toBeGreaterThan(0);
      expect(last.done, stage).toBe(last.total);
    }
  });

  it("leaves nothing behind when it is cancelled on the way", async () => {
    const dir = temporaryFolder();
    const controller = new AbortController();
    const onProgress = ({ stage }: ExportProgress) => stage === "weights" && controller.abort();
    const error = await failureOf(() =>
      exportModel(TINY, dir, { parts: ["unet"], signal: controller.signal, onProgress }),
    );
    expect(error.code).toBe("cancelled");
    expect(readdirSync(dir)).toEqual([]);
  });

  it.each([
    [{ precision: "fp64" }, "precision"],
    [{ parts: ["unett"] }, "parts"],
    [{ opset: 12 }, "opset"],
    [{ opset: 26 }, "opset"],
    [{ frames: 0 }, "frames"],
    [{ width: 100 }, "width"],
    [{ width: 136, dynamic: ["size"] }, "width"],
    [{ dynamic: ["time"] }, "dynamic"],
  ])("refuses %j and writes nothing", async (options, where) => {
    const dir = temporaryFolder();
    const error = await failureOf(() => exportModel(TINY, dir, options as never));
    expect([error.code, error.where]).toEqual(["attr", where]);
    expect(readdirSync(dir)).toEqual([]);
  });

  it("refuses a folder that is a file, and a model that is none", async () => {
    const dir = temporaryFolder();
    expect((await failureOf(() => exportModel(TINY, join(TINY, "model_index.json")))).code).toBe("io");
    expect((await failureOf(() => exportModel(dir, dir))).code).toBe("io");
  });
});

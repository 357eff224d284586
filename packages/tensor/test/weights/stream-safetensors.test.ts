import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { streamSafetensors, type TensorToWrite, writeSafetensors } from "../../src/index";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "vd-stream-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const TENSORS: TensorToWrite[] = [
  { name: "half", dtype: "F16", shape: [3], data: () => Uint16Array.of(1, 2, 3) },
  { name: "full", dtype: "F32", shape: [2, 1], data: Float32Array.of(4, 5) },
];

describe("streamSafetensors", () => {
  it("writes the same bytes as writeSafetensors and tells how far it is", async () => {
    const folder = temporaryFolder();
    const [a, b] = [join(folder, "a"), join(folder, "b")];
    const written: number[] = [];
    await streamSafetensors(a, TENSORS, { metadata: { format: "pt" }, onWritten: (bytes) => written.push(bytes) });
    writeSafetensors(b, TENSORS, { format: "pt" });
    expect(readFileSync(a).equals(readFileSync(b))).toBe(true);
    expect(written).toEqual([8, 14]);
    expect(readdirSync(folder).sort()).toEqual(["a", "b"]);
  });

  it("leaves nothing behind when it is stopped, fails, or finds no place", async () => {
    const folder = temporaryFolder();
    const stop = new AbortController();
    const onWritten = () => stop.abort(new Error("enough"));
    const stopped = streamSafetensors(join(folder, "a"), TENSORS, { signal: stop.signal, onWritten });
    await expect(stopped).rejects.toMatchObject({ code: "cancelled", cause: { message: "enough" } });
    const wrong: TensorToWrite = { name: "x", dtype: "F16", shape: [2], data: () => Uint16Array.of(1) };
    await expect(streamSafetensors(join(folder, "b"), [wrong])).rejects.toThrow("4 bytes for F16 [2], got 2 bytes");
    await expect(streamSafetensors(join(folder, "none", "c"), TENSORS)).rejects.toMatchObject({ code: "io" });
    expect(readdirSync(folder)).toEqual([]);
  });
});

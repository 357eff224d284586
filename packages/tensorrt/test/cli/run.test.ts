import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run";
import { TINY } from "../support/fixtures";
import { temporaryFolder } from "../support/temporary-folder";

/** Runs the command line in this process. */
async function run(args: readonly string[], signal = new AbortController().signal) {
  const [out, err]: [string[], string[]] = [[], []];
  const stdout = { write: (text: string) => out.push(text) };
  const status = await runCli(args, { stdout, stderr: { write: (text) => err.push(text) }, signal, version: "1.2.3" });
  return { status, out: out.join(""), err: err.join("") };
}

describe("vd-tensorrt", () => {
  it("exports with progress, and says what it wrote", async () => {
    const dir = temporaryFolder();
    const { status, out, err } = await run(["export", TINY, "-o", dir, "--parts", "clip,unet", "--precision", "fp16"]);
    expect(status).toBe(0);
    expect(readdirSync(dir).sort()).toEqual(["clip.onnx", "clip.onnx.data", "unet.onnx", "unet.onnx.data"]);
    expect(out).toMatch(/clip\.onnx: \d+ nodes, \d+ KiB, weights 2\.3 MiB\n.*unet\.onnx: \d+ nodes/);
    expect(err).toContain("unet graph 50 %");
    expect(err).toMatch(/unet weights \d+ %/);
  });

  it("describes what it exported", async () => {
    const dir = temporaryFolder();
    await run(["export", TINY, "-o", dir, "--parts", "vae-decoder", "--dynamic", "frames,size", "--size", "64x64"]);
    const { status, out } = await run(["info", join(dir, "vae-decoder.onnx")]);
    expect(status).toBe(0);
    expect(out).toContain("latents: float[1, frames, 4, height, width]");
    expect(out).toContain("frames: float[1, frames, 3, 8*height, 8*width]");
    expect(out).toContain("opset 23");
  });

  it.each([
    [["export", TINY], 2, "required option"],
    [["export", TINY, "-o", "x", "--parts", "unett"], 2, '"unett" is none of'],
    [["export", TINY, "-o", "x", "--size", "64"], 2, "WIDTHxHEIGHT"],
    [["export", TINY, "-o", "x", "--precision", "fp8"], 2, "Allowed choices are fp32, fp16"],
    [["export", TINY, "-o", "/dev/null/x"], 1, "a folder to write to"],
    [["export", "/no/such/model/at-all", "-o", "x"], 2, "/no/such/model/at-all"],
    [["info", "/no/such.onnx"], 1, "no such file"],
    [["build", "/no/such.onnx", "--opt", "batch"], 2, "NAME=NUMBER"],
    [["unknown"], 2, "unknown command"],
  ])("%j ends with status %d and says why", async (args, status, text) => {
    const result = await run(args);
    expect([result.status, result.err]).toEqual([status, expect.stringContaining(text)]);
  });

  it("says what a damaged model lacks, and what this machine has", async () => {
    const path = join(temporaryFolder(), "bad.onnx");
    writeFileSync(path, "not a model");
    expect(await run(["info", path])).toMatchObject({ status: 1, err: expect.stringContaining("a whole ONNX model") });
    const { status, out } = await run(["doctor"]);
    expect(status).toBe(0);
    expect(out).toMatch(/^ONNX Runtime: providers cpu/);
    expect(out).toMatch(/\nTensorRT: /);
    expect(out).toMatch(/\nGPU: /);
  });

  it("ends with 130 on a cancel", async () => {
    const dir = temporaryFolder();
    const { status } = await run(["export", TINY, "-o", dir], AbortSignal.abort());
    expect([status, readdirSync(dir)]).toEqual([130, []]);
  });
});

import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { exportModel, OnnxSession, readModel } from "../../src/index";
import { decodeModel, encodeModel, type ModelProto } from "../../src/onnx/schema";
import { failureOf } from "../support/failure";
import { TINY } from "../support/fixtures";
import { folderForAll, temporaryFolder } from "../support/temporary-folder";

let model: Uint8Array;
let data: Uint8Array;

/** A copy of a good model with its weights. */
function copyOf(change: (model: ModelProto) => ModelProto = (same) => same): string {
  const path = join(temporaryFolder(), "clip.onnx");
  writeFileSync(path, encodeModel(change(decodeModel(model))));
  writeFileSync(`${path}.data`, data);
  return path;
}

describe("bad model files", () => {
  beforeAll(async () => {
    const dir = folderForAll();
    await exportModel(TINY, dir, { parts: ["clip"], precision: "fp16" });
    model = readFileSync(join(dir, "clip.onnx"));
    data = readFileSync(join(dir, "clip.onnx.data"));
    rmSync(dir, { recursive: true });
  });

  it("a good one is read as it was written", async () => {
    const path = copyOf();
    expect((await readModel(path)).inputs[0]).toEqual({
      name: "pixel_values",
      type: "float16",
      axes: [1, 3, 224, 224],
    });
    await (await OnnxSession.open(path)).close();
  });

  it("a truncated one is a typed error, wherever it ends", async () => {
    const path = copyOf();
    const property = fc.asyncProperty(fc.integer({ min: 0, max: model.length - 1 }), async (length) => {
      writeFileSync(path, model.subarray(0, length));
      const error = await failureOf(() => OnnxSession.open(path));
      expect(["weights", "unsupported"]).toContain(error.code);
      expect(error.where).toBe(path);
    });
    await fc.assert(property, { numRuns: 60, seed: 7 });
  });

  it("bytes of something else are a typed error or a model", async () => {
    const path = join(temporaryFolder(), "noise.onnx");
    const property = fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
      writeFileSync(path, bytes);
      expect(await failureOf(() => readModel(path))).toBeInstanceOf(VdError);
    });
    await fc.assert(property, { numRuns: 100, seed: 8 });
  });

  it.each([12, 20, 26, 99])("opset %d is refused", async (version) => {
    const path = copyOf((good) => ({ ...good, opsetImport: [{ domain: "", version }] }));
    const error = await failureOf(() => OnnxSession.open(path));
    expect([error.code, error.got]).toEqual(["unsupported", `opset ${version}`]);
  });

  it("operations of somebody else are refused", async () => {
    const path = copyOf((good) => ({
      ...good,
      opsetImport: [...good.opsetImport, { domain: "com.acme", version: 1 }],
    }));
    expect((await failureOf(() => readModel(path))).message).toContain("com.acme");
  });

  it("missing and short weights are typed errors that name the file", async () => {
    const path = copyOf();
    truncateSync(`${path}.data`, data.length / 2);
    const short = await failureOf(() => OnnxSession.open(path));
    expect([short.code, short.where, short.got]).toEqual(["io", `${path}.data`, `${data.length / 2} bytes`]);
    rmSync(`${path}.data`);
    const missing = await failureOf(() => OnnxSession.open(path));
    expect([missing.code, missing.where, missing.got]).toEqual(["io", `${path}.data`, "no such file"]);
    copyFileSync(path, `${path}.data`);
    expect((await failureOf(() => readModel(path))).code).toBe("io");
  });

  it.each(["../clip.onnx.data", "/etc/passwd", "a/b", "..", ""])("weights at %j are refused", async (value) => {
    const path = copyOf((good) => {
      const initializer = good.graph.initializer.map((each) =>
        each.externalData ? { ...each, externalData: [{ key: "location", value }] } : each,
      );
      return { ...good, graph: { ...good.graph, initializer } };
    });
    expect((await failureOf(() => readModel(path))).code).toBe("weights");
  });

  it("an operand that nobody computes is named", async () => {
    const path = copyOf((good) => ({ ...good, graph: { ...good.graph, node: good.graph.node.slice(1) } }));
    const error = await failureOf(() => readModel(path));
    expect([error.code, error.expected]).toEqual(["weights", expect.stringContaining("operand ")]);
  });

  it("a file that is not there is named", async () => {
    const error = await failureOf(() => OnnxSession.open(join(temporaryFolder(), "no.onnx")));
    expect([error.code, error.got]).toEqual(["io", "no such file"]);
  });
});

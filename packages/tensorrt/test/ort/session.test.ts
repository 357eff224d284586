import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportModel, listProviders, loadOrt, OnnxSession } from "../../src/index";
import { checkProviders } from "../../src/ort/runtime";
import { numbers } from "../support/compare";
import { failureOf } from "../support/failure";
import { TINY } from "../support/fixtures";
import { folderForAll, temporaryFolder } from "../support/temporary-folder";

describe("a session of ONNX Runtime", () => {
  const dir = folderForAll();
  const path = join(dir, "clip.onnx");
  const pixels = { data: numbers(3 * 224 * 224), dims: [1, 3, 224, 224] };

  beforeAll(() => exportModel(TINY, dir, { parts: ["clip"] }));
  afterAll(() => rmSync(dir, { recursive: true }));

  it("gives the same whatever the number of workers", async () => {
    const results: Float32Array[] = [];
    for (const threads of [1, 2]) {
      const session = await OnnxSession.open(path, { threads });
      results.push((await session.run({ pixel_values: pixels })).image_embeds!.data);
      await session.close();
    }
    expect(results[0]!.every(Number.isFinite)).toBe(true);
    expect(results[1]).toEqual(results[0]);
  });

  it.each([21, 22, 23, 24, 25])("opens models of opset %d", async (opset) => {
    const other = temporaryFolder();
    await exportModel(TINY, other, { parts: ["clip"], opset });
    const session = await OnnxSession.open(join(other, "clip.onnx"), { threads: 2 });
    expect(session.info.opset).toBe(opset);
    await session.close();
  });

  it("names a missing input, wrong dimensions and a closed session", async () => {
    const session = await OnnxSession.open(path);
    expect((await failureOf(() => session.run({}))).code).toBe("attr");
    const other = { data: numbers(3 * 32 * 32), dims: [1, 3, 32, 32] };
    const error = await failureOf(() => session.run({ pixel_values: other }));
    expect([error.code, error.expected, error.got]).toEqual(["shape", "[1,3,224,224]", "[1,3,32,32] of 3072 numbers"]);
    const few = { data: numbers(10), dims: pixels.dims };
    expect((await failureOf(() => session.run({ pixel_values: few }))).code).toBe("shape");
    await session.close();
    await session.close();
    expect((await failureOf(() => session.run({ pixel_values: pixels }))).code).toBe("unsupported");
  });

  it("knows what the runtime has, and refuses what it lacks", async () => {
    const ort = loadOrt();
    expect(listProviders(ort)).toContain("cpu");
    const lacking = { ...ort, listSupportedBackends: () => [{ name: "cpu", bundled: true }] } as never;
    for (const provider of ["cuda", "tensorrt"] as const) {
      const error = await failureOf(() => checkProviders(lacking, [provider]));
      expect([error.code, error.got]).toEqual(["unsupported", "one with cpu"]);
    }
    expect((await failureOf(() => checkProviders(ort, ["npu" as never]))).code).toBe("attr");
  });

  // Where the providers' libraries are installed the session opens; everywhere else it must say what is missing.
  it.each(["cuda", "tensorrt"] as const)("opens with %s or says that its library is missing", async (provider) => {
    const opened = await OnnxSession.open(path, { providers: [provider] }).catch((error) => error);
    if (opened instanceof OnnxSession) return opened.close();
    expect([opened.code, opened.where]).toEqual(["unsupported", path]);
    expect(opened.message).toMatch(new RegExp(`loads with ${provider}.*libraries must be installed`));
  });

  it("says how to install a runtime that is not there, and why one does not load", async () => {
    const absent = () => {
      throw Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
    };
    const error = await failureOf(() => loadOrt(absent));
    expect([error.code, error.got]).toEqual(["unsupported", "no such package"]);
    expect(error.hint).toContain("npm install onnxruntime-node@");
    const broken = () => {
      throw new Error("wrong ELF class");
    };
    expect((await failureOf(() => loadOrt(broken))).got).toContain("wrong ELF class");
  });
});

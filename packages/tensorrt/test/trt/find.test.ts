import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findTensorRt, searchFolders } from "../../src/index";
import { parseVersion } from "../../src/trt/find";
import { failureOf } from "../support/failure";
import { fakeTrt, nowhere } from "../support/fake-trt";
import { temporaryFolder } from "../support/temporary-folder";

describe("finding TensorRT", () => {
  it("takes TENSORRT_HOME, PATH, LD_LIBRARY_PATH, pip's folders and the system's, in this order", () => {
    const prefix = temporaryFolder();
    const libs = join(prefix, "lib", "python3.12", "dist-packages", "tensorrt_libs");
    mkdirSync(libs, { recursive: true });
    const folders = { tensorRtHome: "/trt", path: "/p1:/p2", libraryPath: "/l", pythonPrefix: prefix };
    const found = searchFolders({ folders, systemFolders: ["/sys"], pythonPrefixes: [] });
    expect(found.slice(0, 6)).toEqual(["/trt/bin", "/trt/lib", "/trt", "/p1", "/p2", "/l"]);
    expect(found.indexOf(libs)).toBeGreaterThan(found.indexOf("/l"));
    expect(found).toContain(join(prefix, "bin"));
    expect(found.at(-1)).toBe("/sys");
  });

  it.each(["tensorRtHome", "path"] as const)("finds trtexec by %s", async (key) => {
    const { home } = fakeTrt({ banner: "v101303" });
    const folders = { [key]: key === "path" ? join(home, "bin") : home };
    const { trtexec, version, library } = await findTensorRt(nowhere(folders));
    expect([trtexec, version, library]).toEqual([join(home, "bin", "trtexec"), [10, 13, 3], undefined]);
  });

  it("finds libnvinfer beside it, and says so if it is alone", async () => {
    const prefix = temporaryFolder();
    const libs = join(prefix, "lib", "python3.11", "site-packages", "tensorrt_libs");
    mkdirSync(libs, { recursive: true });
    writeFileSync(join(libs, "libnvinfer.so.10"), "");
    const error = await failureOf(() => findTensorRt(nowhere({ pythonPrefix: prefix })));
    expect([error.code, error.got]).toEqual(["unsupported", `libnvinfer alone (${join(libs, "libnvinfer.so.10")})`]);
    const { search } = fakeTrt();
    const folders = { ...search.folders!, pythonPrefix: prefix };
    expect((await findTensorRt({ ...search, folders })).library).toBe(join(libs, "libnvinfer.so.10"));
  });

  it("refuses a program that does not say its version", async () => {
    const error = await failureOf(() => fakeTrt({ silent: true }).find());
    expect([error.code, error.hint]).toEqual(["unsupported", expect.stringContaining("LD_LIBRARY_PATH")]);
  });

  it.each([
    ["[TensorRT v8601]", [8, 6, 1]],
    ["[TensorRT v8501] [b36]", [8, 5, 1]],
    ["[TensorRT v100001]", [10, 0, 1]],
    ["[TensorRT v110401]", [11, 4, 1]],
    ["something else", undefined],
  ])("reads the version of %s", (text, version) => {
    expect(parseVersion(text)).toEqual(version);
  });
});

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { compareVersions, newest, portabilityFaults, versionedSymbols } from "../../../check/packages/glibc-floor.mjs";

const packageDir = fileURLToPath(new URL("../../../../packages/kernels-native", import.meta.url));
const prebuilds = join(packageDir, "prebuilds");
const linux = join(prebuilds, "linux-x64/vd-native.node");
const arm64 = join(prebuilds, "linux-arm64/vd-native.node");
const windows = join(prebuilds, "win32-x64/vd-native.node");
const has = (program: string) => spawnSync(program, ["--version"]).status === 0;
const symbols = (
  createRequire(join(packageDir, "package.json"))("node-api-headers") as {
    symbols: Record<string, { js_native_api_symbols: string[]; node_api_symbols: string[] }>;
  }
).symbols;
/** Functions of Node-API 9, which Node.js 20.3 and Electron 26 have. */
const nodeApi = new Set([...symbols.v9!.js_native_api_symbols, ...symbols.v9!.node_api_symbols]);
const compiler = process.env.CXX ?? "g++";
const staticLibrary = spawnSync(compiler, ["-print-file-name=libstdc++.a"], { encoding: "utf8" }).stdout ?? "";
/** Without the static C++ library a build serves its own machine only (Fedora: libstdc++-static). */
const isPortable = existsSync(linux) && staticLibrary.startsWith("/") && has("objdump");

const names = (program: string, words: string[], pattern: RegExp) =>
  [...spawnSync(program, words, { encoding: "utf8", maxBuffer: 1 << 26 }).stdout.matchAll(pattern)].map(
    ([, name]) => name!,
  );

test("versions are compared by number", () => {
  expect(["2.9", "2.28", "2.4", "2.28.1"].sort(compareVersions)).toEqual(["2.4", "2.9", "2.28", "2.28.1"]);
});

describe.skipIf(!isPortable)("linux-x64 (needs objdump and a static libstdc++)", () => {
  test("asks for nothing newer than glibc 2.28, and for no C++ library", () => {
    expect(versionedSymbols(linux).length).toBeGreaterThan(20);
    expect(portabilityFaults(linux)).toEqual([]);
    expect(compareVersions(newest(linux, "GLIBC")!, "2.28")).toBeLessThanOrEqual(0);
    expect(newest(linux, "GLIBCXX")).toBeUndefined();
  });

  test("a binary that is not built that way has faults", () => {
    // Node.js itself, or a library of this system: whatever links the C++ library the ordinary way.
    const found = names("ldd", [process.execPath], /(\/\S*libstdc\+\+\S*)/g)[0];
    expect(found && portabilityFaults(found).length).toBeTruthy();
  });

  test("shows Node's entry points alone, and asks for Node-API 9 alone", () => {
    const exported = names("objdump", ["-T", linux], / g {4}D\w\s+\.text\s+\w+\s+(?:Base\s+)?(\S+)$/gm);
    expect(exported.sort()).toEqual(["napi_register_module_v1", "node_api_module_get_api_version_v1"]);
    const asked = names("objdump", ["-T", linux], /\*UND\*.*\s(napi_\w+|node_api_\w+)$/gm);
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.filter((name) => !nodeApi.has(name))).toEqual([]);
  });
});

describe.skipIf(!existsSync(arm64) || !has("objdump"))("linux-arm64 (needs `pnpm build:prebuilds`)", () => {
  test("asks for nothing newer than glibc 2.28, and for no C++ library", () => {
    expect(versionedSymbols(arm64).length).toBeGreaterThan(20);
    expect(portabilityFaults(arm64)).toEqual([]);
  });
});

const mingw = "x86_64-w64-mingw32-objdump";
describe.skipIf(!existsSync(windows) || !has(mingw))("win32-x64 (needs MinGW and `pnpm build:prebuilds`)", () => {
  test("asks Windows for its own libraries only, and node.exe for Node-API 9", () => {
    const words = ["-p", windows];
    const libraries = names(mingw, words, /DLL Name: (\S+)/g).map((name) => name.toLowerCase());
    const system = ["kernel32.dll", "msvcrt.dll", "advapi32.dll"];
    expect(libraries.filter((name) => !system.includes(name) && name !== "node.exe")).toEqual([]);
    expect(libraries).toContain("kernel32.dll");
    const text = readFileSync(windows, "latin1");
    const asked = [...nodeApi].filter((name) => text.includes(`\0${name}\0`));
    expect(asked.length).toBeGreaterThan(20);
  });

  test("moves no spilled vector register as aligned: the stack is aligned to 16 bytes", () => {
    const code = spawnSync(mingw, ["-d", "--no-show-raw-insn", windows], {
      encoding: "utf8",
      maxBuffer: 1 << 30,
    }).stdout;
    expect(code).toMatch(/vmovup[sd].*%ymm/);
    expect(/vmov(aps|apd|dqa|dqa32|dqa64)\s.*(%[yz]mm.*\(%r[sb]p|\(%r[sb]p.*%[yz]mm)/.exec(code)?.[0]).toBeUndefined();
  });
});

test("every binary is the one of its folder's manifest", () => {
  const addons = [linux, windows].filter((path) => existsSync(path));
  expect(addons.length).toBeGreaterThan(0);
  for (const path of addons) {
    const { files, built } = JSON.parse(readFileSync(join(path, "../manifest.json"), "utf8"));
    expect(Object.keys(files)).toEqual(["vd-native.node"]);
    const bytes = readFileSync(path);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    expect(files["vd-native.node"]).toEqual({ bytes: bytes.length, sha256 });
    expect(built).toMatchObject({ sources: expect.stringMatching(/^[0-9a-f]{64}$/), compiler: expect.any(String) });
  }
});

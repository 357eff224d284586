import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { HOST, missingCompiler, toolchain } from "../../../build/addon/toolchain.mjs";

const folder = mkdtempSync(join(tmpdir(), "vd toolchain "));

/** A compiler that says this when it is asked where the static C++ library is. */
function compiler(answer: string): void {
  const path = join(folder, "g++");
  writeFileSync(path, `#!/bin/sh\necho "${answer}"\n`);
  chmodSync(path, 0o755);
  vi.stubEnv("CXX", path);
}

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(join(folder, "g++"), { force: true });
});

describe.skipIf(HOST !== "linux-x64")("the compiler of a Linux machine", () => {
  test("links the C++ library into the addon where it can, and then asks for the old glibc", () => {
    compiler("/usr/lib/libstdc++.a");
    expect(toolchain(HOST).flags).toContain("-DVD_GLIBC_COMPAT");
  });

  test("serves this machine alone without the static library, as on Fedora", () => {
    compiler("libstdc++.a");
    expect(toolchain(HOST).flags).not.toContain("-DVD_GLIBC_COMPAT");
  });

  test.each([
    ["1", false],
    ["", true],
  ])("with VD_WARNINGS_AS_ERRORS=%s takes code that may lose bits: %s", (strict, isTaken) => {
    vi.stubEnv("CXX", "g++");
    vi.stubEnv("VD_WARNINGS_AS_ERRORS", strict);
    const { compiler, flags } = toolchain(HOST);
    const source = join(folder, "narrow.cc");
    writeFileSync(source, "int narrow(long long value);\nint narrow(long long value) { return value; }\n");
    const { status, stderr } = spawnSync(compiler, [...flags, "-fsyntax-only", source], { encoding: "utf8" });
    expect([status === 0, /-W(error=)?conversion/.test(stderr)]).toEqual([isTaken, true]);
  });

  test("that is missing gets a sentence with what to install", () => {
    vi.stubEnv("CXX", join(folder, "no-such-compiler"));
    expect(missingCompiler(toolchain(HOST))).toMatch(
      /expected a C\+\+20 compiler named .*no-such-compiler, got ENOENT\. Install/,
    );
  });
});

test("Windows' compiler comes from MinGW, and the sentence says where to get it", () => {
  const tools = toolchain("win32-x64");
  expect(tools.flags).toContain("-Wa,-muse-unaligned-vector-move");
  expect(missingCompiler({ ...tools, compiler: "no-such-mingw" })).toMatch(/got ENOENT\. Install .*mingw/i);
});

test.skipIf(HOST === "linux-arm64")("64-bit Arm's compiler is a cross compiler with tools of its own", () => {
  const tools = toolchain("linux-arm64");
  expect(tools).toMatchObject({ arch: "arm64", strip: "aarch64-linux-gnu-strip", nm: "aarch64-linux-gnu-nm" });
  expect(tools.flags).toContain("-fsigned-char");
  expect(missingCompiler({ ...tools, compiler: "no-such-arm" })).toMatch(/got ENOENT\. Install .*install-arm64-tools/);
});

test("a target that this machine cannot build", () => {
  expect(() => toolchain("sunos-sparc")).toThrow(
    /expected one of .*linux-arm64, win32-x64 on this machine, got sunos-sparc/,
  );
});

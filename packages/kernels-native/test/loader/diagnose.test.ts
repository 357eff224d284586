import { describe, expect, test } from "vitest";
import { type Host, loadProblem, nodeProblem } from "../../src/diagnose";

const host: Host = {
  platform: "linux",
  arch: "x64",
  nodeVersion: "20.19.0",
  glibcVersion: "2.36",
  prebuild: "/a/prebuilds/linux-x64",
  hasPrebuild: true,
};
const failure = (message: string, code?: string) => Object.assign(new Error(message), code ? { code } : {});

describe("an addon that does not load gets a sentence", () => {
  test.each([
    [
      "musl",
      { glibcVersion: undefined },
      failure("Error loading shared library ld-linux-x86-64.so.2"),
      /musl \(Alpine\).*node:22-slim/,
    ],
    [
      "32-bit Arm",
      { arch: "arm", hasPrebuild: false },
      failure("No native build was found"),
      /got linux-arm\. There is no prebuilt binary/,
    ],
    [
      "64-bit Arm without the package's binary",
      { arch: "arm64", prebuild: "/a/prebuilds/linux-arm64", hasPrebuild: false },
      failure("No native build was found"),
      /a native addon in \/a\/prebuilds\/linux-arm64, got none\. Install the package again/,
    ],
    [
      "macOS",
      { platform: "darwin", arch: "arm64", glibcVersion: undefined, hasPrebuild: false },
      failure("No native build was found"),
      /got darwin-arm64.*macOS has no prebuilt binary/,
    ],
    [
      "an old glibc",
      { glibcVersion: "2.17" },
      failure("/lib64/libc.so.6: version `GLIBC_2.27' not found (required by vd-native.node)"),
      /expected glibc 2\.28 or newer, got glibc 2\.17, which lacks GLIBC_2\.27/,
    ],
    [
      "a file system without programs",
      {},
      failure("vd-native.node: failed to map segment from shared object", "ERR_DLOPEN_FAILED"),
      /allows programs to run.*noexec/,
    ],
    [
      "no permission",
      {},
      failure("EACCES: permission denied, open 'vd-native.node'", "EACCES"),
      /permission to read .*refusal/,
    ],
    ["Windows' refusal", { platform: "win32" }, failure("Access is denied.", "ERR_DLOPEN_FAILED"), /virus scanner/],
    ["the permission model", {}, failure("Cannot load native addon", "ERR_DLOPEN_DISABLED"), /--allow-addons/],
    [
      "a package without its binary",
      { hasPrebuild: false },
      failure("No native build was found"),
      /got none\. Install the package again/,
    ],
    ["anything else", {}, failure("invalid ELF header"), /got invalid ELF header\. Install the package again/],
  ])("%s", (_, changes, cause, message) => {
    const error = loadProblem({ ...host, ...(changes as Partial<Host>) }, cause);
    expect(error.code).toBe("unsupported");
    expect(error.message).toMatch(message);
    expect(error.cause).toBe(cause);
    expect(error.message).not.toContain("undefined");
    expect(error.message.split("\n")).toHaveLength(1);
  });
});

describe("Node.js", () => {
  test.each(["20.19.0", "20.20.2", "22.0.0", "26.10.0"])("%s is new enough", (nodeVersion) => {
    expect(nodeProblem({ nodeVersion })).toBeUndefined();
  });

  test.each(["18.20.8", "20.18.3", "16.0.0"])("%s is too old", (nodeVersion) => {
    const error = nodeProblem({ nodeVersion })!;
    expect(error.message).toContain(`expected Node.js 20.19 or newer, got Node.js ${nodeVersion}. Install`);
  });
});

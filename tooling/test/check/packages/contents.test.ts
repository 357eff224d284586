import { describe, expect, test } from "vitest";
import { publicPackages } from "../../../build/packages.mjs";
import { contentFaults, limits } from "../../../check/packages/contents.mjs";

const whole = ["package.json", "README.md", "LICENSE", "dist/index.js"].map((path) => ({ path, bytes: 1 }));

describe("what may be in a tarball", () => {
  test("code, types, maps, a README and the licence", () => {
    expect(contentFaults("@vd/tensor", [...whole, { path: "dist/index.d.cts", bytes: 1 }], {})).toEqual([]);
  });

  test.each([
    "src/index.ts",
    "test/a.test.ts",
    ".npmrc",
    "prebuilds/linux-x64/vd-native.node",
    "tsconfig.json",
    "dist/.env",
  ])("%s is a stranger", (path) => {
    const faults = contentFaults("@vd/tensor", [...whole, { path, bytes: 1 }], {});
    expect(faults).toEqual([`${path} should not be in the tarball`]);
  });

  test("install scripts, workspace links and a missing licence are faults", () => {
    const manifest = { scripts: { postinstall: "node get.js" }, dependencies: { "@vd/tensor": "workspace:*" } };
    const faults = contentFaults("@vd/vae-opt", whole.slice(0, 2), manifest);
    expect(faults).toEqual([
      "LICENSE is missing",
      "the script postinstall runs at the user's",
      "depends on @vd/tensor as workspace:*",
    ]);
  });
});

test("every public package has limits, a licence and a version of the group", () => {
  const packages = publicPackages();
  expect(packages.length).toBeGreaterThanOrEqual(6);
  const named = (name: string) => (limits.packages as Record<string, unknown>)[name];
  expect(packages.map(({ manifest }) => manifest.name).filter((name: string) => !named(name))).toEqual([]);
  expect(new Set(packages.map(({ manifest }) => manifest.version)).size).toBe(1);
  expect(packages.filter(({ manifest }) => manifest.license !== "Apache-2.0")).toEqual([]);
});

test("no package has a script that runs when it is installed", () => {
  const scripts = publicPackages().flatMap(({ manifest }) => Object.keys(manifest.scripts ?? {}));
  expect(scripts.filter((name) => /^(pre|post)?(un)?install$/.test(name))).toEqual([]);
});

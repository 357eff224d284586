import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { publicPackages } from "../../../build/packages.mjs";
import { ROOT } from "../../../build/workspace.mjs";

const projects = ["next", "electron"];
const ours = new Map<string, string>(publicPackages().map(({ manifest }) => [manifest.name, manifest.version]));

describe.each(projects)("examples/%s", (name) => {
  const folder = join(ROOT, "examples", name);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

  test("asks for packages that exist and for no others of ours than it imports", () => {
    const asked = Object.keys(manifest.dependencies).filter((each) => each.startsWith("@vd/"));
    expect(asked.filter((each) => !ours.has(each))).toEqual([]);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
      /\.(mjs|js|jsx)$/.test(path),
    );
    const text = files.map((path) => readFileSync(join(folder, path), "utf8")).join("\n");
    const imported = new Set([...text.matchAll(/from "(@vd\/[\w-]+)"/g)].map(([, each]) => each!));
    expect([...imported].sort()).toEqual(asked.sort());
  });

  test("is listed in the README and tried by check:hosts", () => {
    expect(readFileSync(join(ROOT, "examples/README.md"), "utf8")).toContain(`](${name})`);
    expect(existsSync(join(ROOT, `tooling/check/hosts/${name}.mjs`))).toBe(true);
  });
});

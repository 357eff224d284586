import { basename, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findFixturePaths, findFixtures, loadFixture } from "../../goldens/fixture";
import { committed, FixtureFolder } from "./fixture-folder";

const folder = new FixtureFolder();
afterAll(() => folder.remove());

test("every committed JSON with tensors beside it is found, in order", () => {
  const paths = findFixturePaths(committed);
  expect(paths).toEqual([...paths].sort());
  expect(paths.map((path) => basename(path))).toEqual(
    expect.arrayContaining(["goldens.json", "unet_a.json", "rng.json"]),
  );
  const fixtures = findFixtures(committed);
  expect(fixtures.map(({ jsonPath }) => jsonPath)).toEqual(paths);
  for (const fixture of fixtures) fixture.close();
});

test("a fixture gives its tensors", () => {
  const fixture = loadFixture(folder.tiny("some/sub/thing", { kind: "thing" }));
  expect(fixture).toMatchObject({ label: "sub/thing", json: { kind: "thing" }, names: ["out.x"] });
  expect(fixture.tensorsPath).toBe(join(folder.path, "some/sub/thing.safetensors"));
  expect(fixture.has("out.x")).toBe(true);
  expect(fixture.has("out.y")).toBe(false);
  expect(fixture.shape("out.x")).toEqual([2]);
  expect(fixture.dtype("out.x")).toBe("U8");
  expect([...fixture.float64("out.x"), ...fixture.float32("out.x"), ...fixture.bytes("out.x")]).toEqual([
    1, 2, 1, 2, 1, 2,
  ]);
  fixture.close();
});

test("JSON without tensors is left out; damaged JSON is a typed error that names the file", () => {
  folder.write("config.json", "{}");
  folder.tiny("broken", "{");
  folder.tiny("list", "[]");
  expect(findFixturePaths(folder.path).map((path) => basename(path))).toEqual([
    "broken.json",
    "list.json",
    "thing.json",
  ]);
  for (const name of ["broken.json", "list.json"]) {
    expect(() => loadFixture(join(folder.path, name))).toThrow(`${name}] expected a JSON object`);
  }
  expect(() => findFixturePaths(join(folder.path, "none"))).toThrow("got no such folder");
});

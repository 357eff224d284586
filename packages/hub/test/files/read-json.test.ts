import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { readJson } from "../../src/files/read-json";

function jsonFile(text: string): string {
  const path = join(temporaryFolder(), "config.json");
  writeFileSync(path, text);
  return path;
}

describe("readJson", () => {
  it("reads an object, with Python's numbers as strings", async () => {
    const path = jsonFile('{ "a": [1, -Infinity, NaN], "b": "NaN stays", "c": Infinity }');
    expect(await readJson(path)).toEqual({ a: [1, "-Infinity", "NaN"], b: "NaN stays", c: "Infinity" });
  });

  it("names a file that is not there, with the caller's hint", async () => {
    const path = join(temporaryFolder(), "none.json");
    expect(await failureOf(readJson(path, "Look elsewhere."))).toMatchObject({
      ...{ code: "io", where: path, got: "no such file", hint: "Look elsewhere." },
    });
  });

  it.each([
    ["[1]", "[1]"],
    ["null", "null"],
    ["{", "Expected property name"],
  ])("refuses %s", async (text, got) => {
    const error = await failureOf(readJson(jsonFile(text)));
    expect(error.code).toBe("weights");
    expect(error.got).toContain(got);
  });
});

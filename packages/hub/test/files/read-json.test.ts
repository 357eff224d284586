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

  it("goes over a text once, whatever it is", async () => {
    const start = process.cpuUsage().user;
    const error = await failureOf(readJson(jsonFile(`{"a": "${'\\\\"'.repeat(200_000)}`)));
    expect(error).toMatchObject({ code: "weights", expected: "JSON" });
    expect((process.cpuUsage().user - start) / 1000).toBeLessThan(1000);
  });

  it("refuses more bytes and more levels than a configuration has", async () => {
    expect(await failureOf(readJson(jsonFile(`{"a": "${"x".repeat(2 ** 20)}"}`)))).toMatchObject({
      ...{ code: "weights", expected: "a configuration of at most 1048576 bytes", got: "1048585 bytes" },
    });
    const nested = `{"a": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect((await failureOf(readJson(jsonFile(nested)))).expected).toBe("JSON of at most 64 levels");
  });

  it("leaves brackets and words inside strings alone", async () => {
    const text = JSON.stringify({ "[NaN": '{"Infinity\\"]', b: "[".repeat(100) });
    expect(await readJson(jsonFile(text))).toEqual(JSON.parse(text));
  });
});

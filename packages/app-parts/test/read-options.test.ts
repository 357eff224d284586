import { always, boolean, integer, type OptionTable, text } from "@vd/svd-pipeline/options";
import { expect, it } from "vitest";
import { readOptions } from "../src/read-options";

const table = {
  port: { kind: integer(0, 9), doc: "where to listen", default: always(8), cli: { flags: "-p, --port <N>" } },
  open: {
    kind: boolean,
    doc: "Opens.",
    default: always(true),
    cli: { flags: "--open", off: { flag: "--no-open", doc: "Opens nothing." } },
  },
  redis: { kind: text("an address"), doc: "The queue.", required: true, cli: { flags: "--redis <URL>" } },
} as const satisfies OptionTable;
const spec = { name: "prog run", doc: "Runs.", groups: [{ table }] };
const values = (...argv: string[]) => readOptions(spec, argv);

it("reads values with their defaults, and the word that follows", () => {
  const [base, operand] = [["--redis", "a"], "<name>"];
  expect(values(...base)).toEqual({
    ...{ kind: "values", operand: undefined },
    values: { port: 8, open: true, redis: "a" },
  });
  expect(readOptions({ ...spec, operand }, [...base, "-p", "3", "--no-open", "ana"])).toEqual({
    ...{ kind: "values", operand: "ana" },
    values: { port: 3, open: false, redis: "a" },
  });
});

it("prints help and version", () => {
  const help = readOptions(spec, ["--help"], { tail: "\nThe end.\n", columns: 60 });
  for (const words of ["Usage: prog run [options]", "--no-open", "where to listen", "The end."])
    expect(help).toMatchObject({ kind: "text", text: expect.stringContaining(words) });
  expect(readOptions(spec, ["-V"], { version: "1.2.3" })).toEqual({ kind: "text", text: "1.2.3\n" });
  const titled = readOptions({ ...spec, groups: [{ title: "Where", table }] }, ["-h"]);
  expect(titled).toMatchObject({ text: expect.stringContaining("Where:") });
});

it.each([
  [["--prt", "1"], {}, "[--prt] expected an option of prog run, got an unknown one. Did you mean --port?"],
  [["--zzzzzz"], {}, "prog run --help lists them"],
  [["--port"], {}, "[--port] expected a value"],
  [["--port", "x", "--redis", "a"], {}, "[--port]"],
  [[], {}, "[--redis] expected a value, got nothing"],
  [["a"], {}, "expected options only"],
  [["a"], { commands: ["b", "c"] }, "expected options, or b or c"],
  [["--redis", "a"], { operand: "<name>" }, "[<name>] expected a word, got none"],
  [["--redis", "a", "x", "y"], { operand: "<name>" }, "expected options, and one <name>"],
])("refuses %j of %j in a sentence", (argv, more, sentence) => {
  expect(() => readOptions({ ...spec, ...more }, argv)).toThrow(sentence);
});

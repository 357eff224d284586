import { expect, test } from "vitest";
import { helpLines, readWords } from "../../kernel/options";

test("an option that a command does not have ends in a sentence with those that it has", () => {
  expect(() => readWords(["conv", "--devise", "cpu"], ["device", "validate"])).toThrow(
    "[kernel] expected no option but --device, --validate, got --devise. pnpm kernel --help lists them.",
  );
  expect(() => readWords(["--device=cpu", "-x"], ["device"])).toThrow("expected no option but --device, got -x.");
  expect(() => readWords(["--all"], [])).toThrow("[kernel] expected no option, got --all.");
});

test("options that another program has are handed on", () => {
  const { words, values } = readWords(["conv", "--json", "a.json", "--ncu"], ["ncu", "nsys"], true);
  expect([words, values]).toEqual([["conv", "--json", "a.json"], { ncu: true }]);
});

test("help stays within the columns that there are", () => {
  const lines = helpLines("  bench OP [PATTERN]", "times the op's shapes, with their shares of bandwidth", 23, 50);
  expect(lines).toEqual([
    "  bench OP [PATTERN]   times the op's shapes, with",
    "                       their shares of bandwidth",
  ]);
});

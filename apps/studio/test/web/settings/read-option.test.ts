import { expect, it } from "vitest";
import type { OptionRow } from "../../../web/src/api/types";
import { readOption } from "../../../web/src/settings/read-option";

const row = (part: Partial<OptionRow>): OptionRow => ({
  ...{ name: "someValue", group: "video", kind: "integer", min: null, max: null, values: null, pattern: null },
  ...{ multipleOf: null, unit: null, default: null, defaultText: null, doc: "" },
  ...part,
});

it.each([
  [row({ min: 1, max: 9 }), "4", 4],
  [row({ kind: "real", min: 0, max: 1 }), " 0.25 ", 0.25],
  [row({ kind: "side", multipleOf: 8 }), "64", 64],
  [row({ kind: "seed" }), "18446744073709551615", "18446744073709551615"],
  [row({ kind: "numbers" }), "3, 2;1  0", [3, 2, 1, 0]],
  [row({ kind: "text", pattern: "^a+$" }), "aaa", "aaa"],
  [row({ kind: "booleanOrText" }), "true", true],
  [row({ kind: "booleanOrText" }), "yes, how", "yes, how"],
  [row({}), "", undefined],
])("reads the value of %o", (option, text, value) => expect(readOption(option, text)).toEqual({ value }));

it.each([
  [row({ min: 1, max: 9 }), "10", "Some value is a whole number from 1 to 9."],
  [row({ min: 1, max: 9 }), "2.5", "Some value is a whole number from 1 to 9."],
  [row({ kind: "real", max: 1 }), "many", "Some value is a number up to 1."],
  [row({ kind: "side", multipleOf: 8 }), "65", "Some value is a whole number, a multiple of 8."],
  [row({ kind: "seed" }), "-1", "Some value is a whole number."],
  [row({ kind: "numbers" }), "1, two", "Some value are numbers with commas between them."],
  [row({ kind: "text", pattern: "^a+$" }), "b", "Some value is not of the form that is described below."],
])("says what is wrong with %o", (option, text, fault) => expect(readOption(option, text)).toEqual({ fault }));

import { describe, expect, it } from "vitest";
import { joinedTexts } from "../src/joined-texts";

describe("joinedTexts", () => {
  it("puts texts into one, empty ones too, and counts them", () => {
    expect(joinedTexts("names", ["one", "", "three"])).toEqual({ text: "one\0\0three", count: 3 });
    expect(joinedTexts("names", [""])).toEqual({ text: "", count: 1 });
    expect(joinedTexts("names", [])).toEqual({ text: "", count: 0 });
  });

  it.each([undefined, "one", ["one", 7], [["one"]]])("refuses %j, which is no list of texts", (texts) => {
    const join = () => joinedTexts("compile names", texts as string[]);
    expect(join).toThrow("[compile names] expected a list, each a text, got");
  });
});

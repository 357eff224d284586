import fc from "fast-check";
import { expect, it } from "vitest";
import { readRequest } from "../../src/protocol/control";

it.each([
  { type: "keys", held: ["ArrowLeft", "Space"], input: 3 },
  { type: "drawn", count: 0 },
  { type: "pause" },
  { type: "resume" },
  { type: "steps", steps: 2 },
  { type: "recover", on: false },
  { type: "words", prompt: "a red fox", strength: 0.4 },
  { type: "words", negativePrompt: "", guidanceScale: 7.5 },
  { type: "start", name: "meadow-morning" },
  { type: "start", name: "meadow-morning", seed: 7 },
  { type: "keep" },
  { type: "back" },
])("reads %j", (request) => {
  expect(readRequest(JSON.stringify(request))).toEqual(request);
});

it.each([
  "",
  "null",
  "[]",
  '"pause"',
  "{",
  '{"type":"toString"}',
  '{"type":"constructor"}',
  '{"type":"keys","held":"Space","input":1}',
  '{"type":"keys","held":[1],"input":1}',
  `{"type":"keys","held":[${Array(17).fill('"a"').join(",")}],"input":1}`,
  '{"type":"keys","held":[],"input":-1}',
  '{"type":"drawn","count":1.5}',
  '{"type":"steps","steps":"2"}',
  '{"type":"recover","on":1}',
  '{"type":"words","prompt":1}',
  `{"type":"words","prompt":"${"a".repeat(2001)}"}`,
  '{"type":"words","strength":"0.5"}',
  '{"type":"words","guidanceScale":1e999}',
  '{"type":"start","name":1}',
  `{"type":"start","name":"${"a".repeat(65)}"}`,
  '{"type":"start","name":"a","seed":1e99}',
])("refuses %s", (text) => {
  expect(readRequest(text)).toBeUndefined();
});

it("never throws, whatever comes", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      readRequest(text);
    }),
  );
});

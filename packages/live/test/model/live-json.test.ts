import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { actionForKeys } from "../../src/index";
import { parseLiveJson } from "../../src/model/live-json";
import { TINY_LIVE } from "../support/tiny-live";

const stored = JSON.parse(readFileSync(join(TINY_LIVE, "live.json"), "utf8"));

test("reads what tiny-live says of itself", () => {
  const model = parseLiveJson(stored, TINY_LIVE);
  expect(model).toMatchObject({ name: "tiny-live", width: 96, height: 64, fps: 25, contextFrames: 4, defaultSteps: 1 });
  expect([...model.sigmas]).toEqual([
    [1, [3]],
    [2, [4, 0.8]],
    [3, [6, 2, 0.6]],
    [5, [8, 3.5, 1.5, 0.6, 0.2]],
  ]);
  expect(model.starts[0]).toMatchObject({ name: "meadow-morning", details: { palette: "meadow" } });
});

test.each([
  ["format", "other/1", /tiny-live\/1/],
  ["width", 0, /whole number/],
  ["fps", -1, /positive/],
  ["context_frames", 4.5, /whole number/],
  ["sampler", "heun", /"euler"/],
  ["pixel_range", [0, 1], /-1/],
  ["preconditioning", {}, /c_skip/],
  ["sigmas", { 2: [1, 4] }, /falling/],
  ["sigmas", { 2: [1] }, /falling/],
  ["sigmas", {}, /number of steps/],
  ["default_steps", 4, /one of 1, 2, 3, 5/],
  ["actions", ["a", "a"], /different/],
  ["keys", { KeyA: "fly" }, /parts of actions/],
  ["starts", [], /start states/],
  ["starts", [{ name: "x", file: "../../secret.png" }], /model's folder/],
  ["starts", [{ name: "x", file: "/etc/passwd" }], /model's folder/],
])("refuses %s of %j", (key, value, message) => {
  expect(() => parseLiveJson({ ...stored, [key]: value }, TINY_LIVE)).toThrow(message);
});

test.each([
  [[], "none"],
  [["ArrowLeft"], "left"],
  [["Space", "ArrowRight"], "right+jump"],
  [["ArrowLeft", "ArrowUp", "Space"], "left+jump"],
  [["ArrowLeft", "ArrowRight"], "right"],
  [["KeyQ", "toString"], "none"],
])("keys %j are %s", (held, action) => {
  expect(actionForKeys(parseLiveJson(stored, TINY_LIVE), held)).toBe(action);
});

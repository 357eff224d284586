import { expect, it } from "vitest";
import { ActionScript } from "../../src/input/action-script";

const ACTIONS = ["none", "right", "right+jump"];

it("does each action for its frames, and begins again", () => {
  const script = ActionScript.read("right:2, right+jump,none:1", ACTIONS);
  expect(Array.from({ length: 6 }, (_, i) => script.at(i))).toEqual([
    ...["right", "right", "right+jump", "none", "right", "right"],
  ]);
});

it.each(["", "fly", "right:", "right:0", "right:-1", "right:1.5", "right,,none", "right:99999999"])(
  "refuses %j",
  (text) => {
    expect(() => ActionScript.read(text, ACTIONS)).toThrow("[--actions] expected ACTION or ACTION:FRAMES");
  },
);

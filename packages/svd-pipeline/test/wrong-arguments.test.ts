import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as pipeline from "../src/index";

testWrongArguments(pipeline, [
  { reason: "They take no arguments.", names: ["denoiserNames", "new StageLayouts"] },
  { reason: "Their constructors are private.", names: ["new EndlessVideo"], ends: "apart" },
  {
    reason: "All fields have defaults.",
    names: ["parseClipVisionConfig", "parseUnetConfig", "unetRewritings"],
    given: ["{}"],
  },
  { reason: "What is not there needs not go.", names: ["removeState"], given: ["a text"] },
  { reason: "A place beside any path has a name.", names: ["calibrationBeside"], given: ["a text"] },
]);

import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as profiler from "../src/index";

testWrongArguments(profiler, [
  { reason: "All options have defaults.", names: ["createProfiler"], given: ["nothing", "{}"] },
  { reason: "All options have defaults.", names: ["new Profiler"], given: ["{}"] },
]);

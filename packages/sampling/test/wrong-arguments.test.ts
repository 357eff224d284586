import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as sampling from "../src/index";

testWrongArguments(sampling, [{ reason: "All fields have defaults.", names: ["trainedSigmas"], given: ["{}"] }]);

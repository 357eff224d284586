import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as conformance from "../src/index";

testWrongArguments(conformance, [{ reason: "It takes no arguments.", names: ["cpuSuite"] }]);

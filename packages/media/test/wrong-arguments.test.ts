import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as media from "../src/index";

testWrongArguments(media, [{ reason: "It takes no arguments.", names: ["loadSharp"] }]);

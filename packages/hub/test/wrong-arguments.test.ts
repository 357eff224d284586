import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as hub from "../src/index";

testWrongArguments(hub, [
  { reason: "All options have defaults.", names: ["listCachedModels"], given: ["nothing", "{}"] },
  { reason: "Layers that are none are an empty list.", names: ["sameLayers"], given: ["nothing"] },
  { reason: "Any text is one: with a name or without.", names: ["sameLayers", "parseHubModelName"], given: ["a text"] },
]);

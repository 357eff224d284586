import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as live from "../src/index";

testWrongArguments(live, [
  { reason: "Their constructors are private.", names: ["new FramePipeline", "new PictureEngine"], ends: "apart" },
  {
    reason: "All options have defaults: the bundled model plays.",
    names: ["createLiveSession", "drift"],
    given: ["nothing", "{}"],
    ends: "apart",
  },
  { reason: "The bundled model is the default.", names: ["openLiveModel"], given: ["nothing"] },
  { reason: "All fields have defaults.", names: ["parseClipTextConfig", "parseUnet2dConditionConfig"], given: ["{}"] },
  { reason: "Nothing lies at a path that is none of a model's.", names: ["isClipModel"], given: ["a text"] },
]);

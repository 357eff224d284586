import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as tensorrt from "../src/index";

testWrongArguments(tensorrt, [
  { reason: "It takes no arguments.", names: ["defaultCacheDir"] },
  { reason: "Their constructors are private.", names: ["new OnnxModels", "new OnnxSession"], ends: "apart" },
  {
    reason: "All options have defaults.",
    names: ["searchFolders", "tensorrt", "onnxruntime"],
    given: ["nothing", "{}"],
  },
  {
    reason: "What the machine has decides: ONNX Runtime, a GPU.",
    names: ["loadOrt", "currentGpu"],
    given: ["nothing"],
    ends: "apart",
  },
  {
    reason: "What the machine has decides: TensorRT.",
    names: ["findTensorRt"],
    given: ["nothing", "{}"],
    ends: "apart",
  },
]);

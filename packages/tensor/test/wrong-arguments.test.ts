import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as tensor from "../src/index";

testWrongArguments(tensor, [
  {
    reason: "They take no arguments.",
    names: [
      ...["discardAll", "normedConvolutions", "normedLinears", "ownTurn", "peakProcessBytes"],
      ...["new QuantizedWeights", "new SharedBlock", "new SharedChannels"],
    ],
  },
  { reason: "They are asked of anything.", names: ["isTensor", "isDeviceList", "systemCode"] },
  {
    reason: "They say what failed, or clear up behind it, which they must not hide.",
    names: ["fileError", "discard", "settled"],
  },
  {
    reason: "Their constructors are private.",
    names: ["new Plan", "new Weights", "new SafetensorsFile"],
    ends: "apart",
  },
  {
    reason: "Their callers know what a path is for, and word the error.",
    names: ["makeFolder", "statIfThere", "syncFolder"],
    given: ["a text"],
    ends: "an error of the operating system",
  },
  {
    reason: "All options have defaults.",
    names: ["takeWinograd", "winogradConvolutions", "new Graph"],
    given: ["nothing", "{}"],
  },
  {
    reason: "Of a call's arguments they look at optional ones alone.",
    names: ["hasAttentionF8", "hasAttentionQ8", "hasConvQ8", "hasLinearQ8"],
    given: ["{}"],
  },
  { reason: "It may be called for no way to record.", names: ["withWaitingGroupNorms"], given: ["nothing"] },
  { reason: "The seed has a default.", names: ["randomWeights"], given: ["nothing"] },
  { reason: "The name is one that a row may have, or none.", names: ["gatedResidual"], given: ["nothing", "a text"] },
  {
    reason: "NaN is a number, and so is what comes of it.",
    names: [
      "float32ToBfloat16",
      "float32ToFloat16",
      "float32ToFloat8",
      "roundToBfloat16",
      "roundToFloat16",
      "sigmoid",
      "bfloat16ToFloat32",
      "float16ToFloat32",
    ],
    given: ["NaN"],
  },
  { reason: "Another device's name is one without a table.", names: ["defaultTuningTable"], given: ["a text"] },
  { reason: "Any path has a name beside it.", names: ["temporaryName"], given: ["a text"] },
]);

import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as kernels from "../src/index";

testWrongArguments(kernels, [
  { reason: "They take no arguments.", names: ["devices", "startDriver", "verifyPrebuilds", "imageDir"] },
  { reason: "It is asked of anything.", names: ["isVdError", "shown", "shownJson"] },
  {
    reason: "An error is made while something else has failed, which it must not hide.",
    names: ["cancelledError"],
  },
  { reason: "All its details are texts for a message.", names: ["new VdError"], given: ["{}"] },
  {
    reason: "They say what an argument must be, and are called while a module loads.",
    names: ["arrayOf", "having", "numberFrom", "wholeFrom"],
  },
  {
    reason: "openDevice, Device.compile, allocateBuffer and mapFile make them of what the addon gave.",
    names: ["new Device", "new Program", "new DeviceBuffer"],
    ends: "apart",
  },
  { reason: "All options have defaults.", names: ["Device.cpu"], given: ["nothing", "{}"] },
  {
    reason: "The package's own folder is the default, and another folder may be empty.",
    names: ["listGpus"],
    given: ["nothing", "a text"],
  },
  { reason: "Work may have no signal.", names: ["throwIfAborted"], given: ["nothing", "null"] },
]);

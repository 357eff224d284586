import type { SamplerDefinition } from "./definition";
import { ddim } from "./samplers/ddim";
import { dpmSolver } from "./samplers/dpm-solver";
import { edmEuler } from "./samplers/edm-euler";
import { euler } from "./samplers/euler";
import { eulerAncestral } from "./samplers/euler-ancestral";
import { heun } from "./samplers/heun";
import { lcm } from "./samplers/lcm";
import { tcd } from "./samplers/tcd";
import { unipc } from "./samplers/unipc";

/** Every sampler there is. To add one, write its file and list it here. */
export const samplerDefinitions: readonly SamplerDefinition[] = [
  euler,
  eulerAncestral,
  heun,
  ddim,
  dpmSolver,
  unipc,
  lcm,
  edmEuler,
  tcd,
];

import { ddim } from "./ddim";
import type { SamplerDefinition } from "./definition";
import { dpmSolver } from "./dpm-solver";
import { edmEuler } from "./edm-euler";
import { euler } from "./euler";
import { eulerAncestral } from "./euler-ancestral";
import { heun } from "./heun";
import { lcm } from "./lcm";
import { tcd } from "./tcd";
import { unipc } from "./unipc";

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

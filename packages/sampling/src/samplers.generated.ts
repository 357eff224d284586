// Generated from samplers/*.ts by tooling/generate/samplers. Do not edit.
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

/** What the files of samplers/ export, in the order of their names. */
export const SAMPLERS: readonly SamplerDefinition[] = [
  ddim,
  dpmSolver,
  edmEuler,
  euler,
  eulerAncestral,
  heun,
  lcm,
  tcd,
  unipc,
];

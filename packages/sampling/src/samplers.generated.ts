// Generated from samplers/*.ts by tooling/generate/samplers. Do not edit.
import type { SamplerDefinition } from "./definition";
import { animatelcm } from "./samplers/animatelcm";
import { ddim } from "./samplers/ddim";
import { ddpm } from "./samplers/ddpm";
import { deis } from "./samplers/deis";
import { dpmSolver } from "./samplers/dpm-solver";
import { dpmpp2mSde } from "./samplers/dpmpp-2m-sde";
import { dpmpp2s } from "./samplers/dpmpp-2s";
import { dpmpp2sA } from "./samplers/dpmpp-2s-a";
import { dpmpp3mSde } from "./samplers/dpmpp-3m-sde";
import { dpmppSde } from "./samplers/dpmpp-sde";
import { edmDpmpp2m } from "./samplers/edm-dpmpp-2m";
import { edmEuler } from "./samplers/edm-euler";
import { euler } from "./samplers/euler";
import { eulerAncestral } from "./samplers/euler-ancestral";
import { flowEuler } from "./samplers/flow-euler";
import { flowHeun } from "./samplers/flow-heun";
import { heun } from "./samplers/heun";
import { ipndm } from "./samplers/ipndm";
import { kdpm2 } from "./samplers/kdpm2";
import { kdpm2A } from "./samplers/kdpm2-a";
import { lcm } from "./samplers/lcm";
import { lms } from "./samplers/lms";
import { pndm } from "./samplers/pndm";
import { tcd } from "./samplers/tcd";
import { unipc } from "./samplers/unipc";

/** What the files of samplers/ export, in the order of their names. */
export const SAMPLERS: readonly SamplerDefinition[] = [
  animatelcm,
  ddim,
  ddpm,
  deis,
  dpmSolver,
  dpmpp2mSde,
  dpmpp2s,
  dpmpp2sA,
  dpmpp3mSde,
  dpmppSde,
  edmDpmpp2m,
  edmEuler,
  euler,
  eulerAncestral,
  flowEuler,
  flowHeun,
  heun,
  ipndm,
  kdpm2,
  kdpm2A,
  lcm,
  lms,
  pndm,
  tcd,
  unipc,
];

/** The short name of a sampler. */
export type SamplerName =
  | "animatelcm"
  | "ddim"
  | "ddpm"
  | "deis"
  | "dpmpp_2m"
  | "dpmpp_2m_sde"
  | "dpmpp_2s"
  | "dpmpp_2s_a"
  | "dpmpp_3m_sde"
  | "dpmpp_sde"
  | "edm_dpmpp_2m"
  | "edm_euler"
  | "euler"
  | "euler_a"
  | "flow_euler"
  | "flow_heun"
  | "heun"
  | "ipndm"
  | "kdpm2"
  | "kdpm2_a"
  | "lcm"
  | "lms"
  | "pndm"
  | "tcd"
  | "unipc";

/** The name of a diffusers class that a sampler follows. */
export type SchedulerClassName =
  | "AnimateLCMSVDStochasticIterativeScheduler"
  | "DDIMScheduler"
  | "DDPMScheduler"
  | "DEISMultistepScheduler"
  | "DPMSolverMultistepScheduler"
  | "sample_dpmpp_2m_sde"
  | "DPMSolverSinglestepScheduler"
  | "sample_dpmpp_2s_ancestral"
  | "sample_dpmpp_3m_sde"
  | "DPMSolverSDEScheduler"
  | "EDMDPMSolverMultistepScheduler"
  | "EDMEulerScheduler"
  | "EulerDiscreteScheduler"
  | "EulerAncestralDiscreteScheduler"
  | "FlowMatchEulerDiscreteScheduler"
  | "FlowMatchHeunDiscreteScheduler"
  | "HeunDiscreteScheduler"
  | "IPNDMScheduler"
  | "KDPM2DiscreteScheduler"
  | "KDPM2AncestralDiscreteScheduler"
  | "LCMScheduler"
  | "LMSDiscreteScheduler"
  | "PNDMScheduler"
  | "TCDScheduler"
  | "UniPCMultistepScheduler";

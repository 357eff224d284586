import { basename } from "node:path";
import type { SchedulerConfig } from "@vd/sampling";
import type { ModelComponents } from "./components";

/** Schedulers that are made for consistency-distilled models alone. */
export const CONSISTENCY_CLASSES: readonly string[] = [
  "AnimateLCMSVDStochasticIterativeScheduler",
  "LCMScheduler",
  "TCDScheduler",
];

/** Names of distilled checkpoints, such as AnimateLCM-SVD-xt-1.1.safetensors. */
const DISTILLED_NAME = /(?:^|[^a-z])(?:animate)?(?:lcm|tcd)(?:[^a-z]|$)/i;

/** The settings with which AnimateLCM-SVD is published, over the noise levels of the model that it was distilled from. Source:
 *  https://huggingface.co/spaces/wangfuyun/AnimateLCM-SVD `app.py`. */
function distilledScheduler({ sigma_min = 0.002, sigma_max = 700 }: SchedulerConfig): SchedulerConfig {
  return {
    _class_name: CONSISTENCY_CLASSES[0]!,
    ...{ num_train_timesteps: 40, sigma_min, sigma_max, sigma_data: 1, s_noise: 1, rho: 7, clip_denoised: false },
  };
}

const hasConsistencyClass = ({ scheduler }: ModelComponents) =>
  CONSISTENCY_CLASSES.includes(String(scheduler._class_name));

/**
 * Marks a model that is distilled for few steps, and gives it the scheduler of such models where it has another one. Weights do not tell:
 * what the caller says counts, else the scheduler's class, else the names of the model and of its UNet.
 */
export function settleDistillation(
  components: ModelComponents,
  { distilled, unet }: { distilled?: boolean | undefined; unet?: string | undefined },
): ModelComponents {
  const names = [components.source, ...(unet === undefined ? [] : [unet])].map((path) => basename(path));
  const isDistilled = distilled ?? (hasConsistencyClass(components) || names.some((name) => DISTILLED_NAME.test(name)));
  if (!isDistilled) return { ...components, distilled: false };
  const scheduler = hasConsistencyClass(components) ? components.scheduler : distilledScheduler(components.scheduler);
  return { ...components, scheduler, distilled: true };
}

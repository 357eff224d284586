/** Video that is made while it is watched: sessions of steerable diffusion models, and what becomes of them over long games. */
export type { DriftMeasure, DriftOptions, DriftReport, DriftSummary } from "./drift/types";
export type { LiveModelInfo, LiveStart } from "./model/types";
export {
  type AdaptiveOptions,
  DEADLINE_POLICIES,
  type DeadlinePolicy,
  type DriftGuardOptions,
  type FeatureCacheOptions,
  type LiveFrame,
  type LivePace,
  type LiveParameters,
  type LivePicture,
  type LiveSession,
  type LiveSessionOptions,
  type LiveSnapshot,
  type LiveStats,
  type LiveTimes,
} from "./session/types";

import type { SessionSettings } from "./parts";
import type { LivePrecision } from "./types";

/** How a frame is made, decided at its edge. */
export interface FramePlan {
  tick: number;
  steps: number;
  action: number;
  deep: "none" | "compute" | "reuse";
  precision: LivePrecision | undefined;
  settings: SessionSettings;
  edge: number;
  /** The picture differs too little from one before: its frame is shown once more. */
  isSame: boolean;
}

/** How far a generation is: one fraction and one time to go over all of its stages. It loads nothing of the pipeline. */
export { OverallClock, type OverallPace, type StageEvent } from "./overall-clock";

import { randomBytes } from "node:crypto";

/** Digits of the time in an id: enough until the year 10889. */
const TIME_DIGITS = 12;
const ID = /^video_[0-9a-f]{32}$/;

/** Makes the id of a new video; ids that are made later are larger as texts, which makes the order of lists. */
export function makeVideoId(nowMs = Date.now()): string {
  return `video_${nowMs.toString(16).padStart(TIME_DIGITS, "0")}${randomBytes(10).toString("hex")}`;
}

/** True for a text that {@link makeVideoId} could have made; such a text is safe as the name of a folder. */
export const isVideoId = (text: string): boolean => ID.test(text);

/** Two clips may be this many frames apart before the second is set right. */
const MAX_APART = 0.6;

/** What playing clips together needs of a video element. */
export type AlignedVideo = Pick<HTMLVideoElement, "currentTime" | "duration" | "readyState">;

/** From this state on a clip has a duration and can be put at a time; before, it has none, and NaN for a time is refused. */
const HAVE_METADATA = 1;

/** Puts each of the followers at the leader's time; those that are not loaded yet are left for a later frame. */
export function align(leader: AlignedVideo, followers: readonly AlignedVideo[], fps: number): void {
  for (const video of followers)
    if (video.readyState >= HAVE_METADATA && Math.abs(video.currentTime - leader.currentTime) * fps > MAX_APART)
      video.currentTime = Math.min(leader.currentTime, Math.max(0, video.duration - 0.5 / fps));
}

import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { align } from "./align";

/** What the playback of one clip, or of two side by side, can be told and asked. */
export interface Transport {
  frame: number;
  isPlaying: boolean;
  isLooping: boolean;
  rate: number;
  play(): void;
  pause(): void;
  toggle(): void;
  /** Stops at a frame, counted from 0. */
  seek(frame: number): void;
  setLooping(isLooping: boolean): void;
  setRate(rate: number): void;
}

/** The clip that is played: frames, and frames a second. */
export interface ClipFacts {
  numFrames: number;
  fps: number;
}

type VideoRef = RefObject<HTMLVideoElement | null>;

/** The time in the middle of a frame, where every decoder shows that frame and none of its neighbours. */
const middleOf = (frame: number, fps: number) => (frame + 0.5) / fps;
const frameAt = (seconds: number, { numFrames, fps }: ClipFacts) =>
  Math.min(numFrames - 1, Math.max(0, Math.floor(seconds * fps + 1e-3)));

/** Whoever asks for less motion starts clips by hand. */
export const isCalm = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Plays clips together; the first of them leads. key: changes when the clips do. */
export function useTransport(refs: readonly VideoRef[], facts: ClipFacts, key: string): Transport {
  const [frame, setFrame] = useState(0);
  const [isPlaying, setPlaying] = useState(false);
  const [isLooping, setLooping] = useState(true);
  const [rate, setRate] = useState(1);
  const latest = useRef({ refs, facts, isLooping });
  latest.current = { refs, facts, isLooping };

  const videos = useCallback(
    () => latest.current.refs.flatMap(({ current }) => (current === null ? [] : [current])),
    [],
  );
  const play = useCallback(() => {
    const [leader] = videos();
    if (leader?.ended) for (const video of videos()) video.currentTime = 0;
    // A browser may refuse to play before anything was pressed; the button then starts it.
    for (const video of videos()) void video.play().catch(() => setPlaying(false));
  }, [videos]);
  const pause = useCallback(() => {
    const [leader, ...followers] = videos();
    for (const video of videos()) video.pause();
    if (leader) align(leader, followers, latest.current.facts.fps);
  }, [videos]);
  const seek = useCallback(
    (to: number) => {
      const { numFrames, fps } = latest.current.facts;
      const wanted = Math.min(numFrames - 1, Math.max(0, to));
      for (const video of videos()) {
        video.pause();
        video.currentTime = middleOf(wanted, fps);
      }
      setFrame(wanted);
    },
    [videos],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: other clips have other elements
  useEffect(() => {
    const [leader, ...followers] = videos();
    if (!leader) return;
    setFrame(0);
    let request = 0;
    const onFrame = (_: number, { mediaTime }: VideoFrameCallbackMetadata) => {
      const { facts } = latest.current;
      if (!leader.paused) {
        setFrame(frameAt(mediaTime, facts));
        align(leader, followers, facts.fps);
      }
      request = leader.requestVideoFrameCallback(onFrame);
    };
    const onEnded = () => {
      if (latest.current.isLooping) play();
      else setPlaying(false);
    };
    const onPlay = () => setPlaying(true);
    const onPause = () => setPlaying(!leader.paused && !leader.ended);
    request = leader.requestVideoFrameCallback(onFrame);
    const ended = new AbortController();
    for (const [name, listener] of [
      ["ended", onEnded],
      ["play", onPlay],
      ["pause", onPause],
    ] as const)
      leader.addEventListener(name, listener, { signal: ended.signal });
    if (!isCalm()) play();
    return () => {
      ended.abort();
      leader.cancelVideoFrameCallback(request);
    };
  }, [key, play, videos]);

  useEffect(() => {
    for (const video of videos()) video.playbackRate = rate;
  }, [rate, videos]);

  const toggle = () => (isPlaying ? pause() : play());
  return { frame, isPlaying, isLooping, rate, play, pause, toggle, seek, setLooping, setRate };
}

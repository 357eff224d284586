import { useEffect, useRef, useState } from "react";
import { useClip } from "../api/queries";
import type { Video } from "../api/types";
import styles from "./player.module.css";
import { type ClipFacts, useTransport } from "./transport";
import { TransportBar } from "./transport-bar";
import { useTransportKeys } from "./use-transport-keys";
import { VideoBox } from "./video-box";

/** How many frames a finished video has, and how fast they follow each other. */
export const clipFacts = ({ settings }: Video): ClipFacts => ({
  numFrames: Number(settings.numFrames ?? 1),
  fps: Number(settings.fps ?? 7),
});

/** A finished video: it plays at once, in a loop, and can be looked at frame by frame. */
export function Player({ video }: { video: Video }) {
  const ref = useRef<HTMLVideoElement>(null);
  const { url, error } = useClip(video.id, true);
  const facts = clipFacts(video);
  const [isReady, setReady] = useState(false);
  useEffect(() => setReady(url !== undefined), [url]);
  const transport = useTransport([ref], facts, `${video.id} ${isReady}`);
  useTransportKeys(transport, facts);
  return (
    <section className={styles.player} aria-label="Player">
      <VideoBox ref={ref} video={video} url={url} error={error} onPress={transport.toggle} />
      <TransportBar transport={transport} facts={facts} />
    </section>
  );
}

import { type CSSProperties, type Ref, useState } from "react";
import { contentUrl } from "../api/client";
import type { Video } from "../api/types";
import { classNames } from "../ui/class-names";
import styles from "./player.module.css";

/** The sides of a video's frames in pixels. */
export function sizeOf({ settings, size }: Video): { width: number; height: number } {
  const [width, height] = size.split("x").map(Number);
  return { width: Number(settings.width ?? width ?? 1), height: Number(settings.height ?? height ?? 1) };
}

/** Frames this small are shown with their pixels; smoothed, they would be a blur. */
const SMALL_PX = 160;

/** What lets a box take the shape of a video's frames, as large as there is room. */
export function boxStyle(video: Video): CSSProperties {
  const { width, height } = sizeOf(video);
  return { aspectRatio: `${width} / ${height}`, "--shape": width / height } as CSSProperties;
}

/** True if a video's pixels are shown as they are. */
export const isSmall = (video: Video): boolean => sizeOf(video).width <= SMALL_PX;

interface VideoBoxProps {
  ref: Ref<HTMLVideoElement>;
  video: Video;
  /** The file's address; undefined while it is loaded. */
  url: string | undefined;
  error: Error | null;
  onPress: () => void;
}

/** The picture of a clip, on its own ground. A browser without H.264 gets the WebP, which plays by itself. */
export function VideoBox({ ref, video, url, error, onPress }: VideoBoxProps) {
  const [isUnplayable, setUnplayable] = useState(false);
  return (
    <div className={styles.area}>
      <div className={classNames(styles.box, isSmall(video) && styles.pixels)} style={boxStyle(video)}>
        {isUnplayable ? (
          <>
            <img src={contentUrl(video.id, "webp")} alt="The video" />
            <p className={styles.note}>This browser plays no H.264, so the WebP is shown; it cannot be stopped.</p>
          </>
        ) : (
          <video
            ref={ref}
            aria-label={`Video, seed ${String(video.settings.seed)}`}
            muted
            playsInline
            {...(url !== undefined && { src: url })}
            onClick={onPress}
            onError={() => url !== undefined && setUnplayable(true)}
          />
        )}
        {error && <p className={styles.note}>{error.message}</p>}
      </div>
    </div>
  );
}

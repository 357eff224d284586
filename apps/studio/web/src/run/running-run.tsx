import { useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { cancelVideo, contentUrl } from "../api/client";
import { putVideo, usePreview } from "../api/queries";
import type { Progress, Video } from "../api/types";
import { boxStyle, isSmall } from "../player/video-box";
import { useVideoActions } from "../state/actions";
import { Button } from "../ui/button";
import { classNames } from "../ui/class-names";
import { durationWords } from "../ui/words";
import styles from "./run-stage.module.css";

const PHASES: Record<Progress["phase"], string> = {
  load: "Opening the model",
  encode: "Reading the picture",
  denoise: "Denoising",
  decode: "Making frames",
  write: "Writing files",
};

function phaseWords({ status, phase, queue_position }: Video): string {
  if (status === "queued")
    return queue_position
      ? `Waiting for ${queue_position === 1 ? "1 video" : `${queue_position} videos`} before it`
      : "Starting";
  if (phase === null) return "Starting";
  const isCounted = phase.phase === "denoise" && phase.steps > 0;
  return `${PHASES[phase.phase]}${isCounted ? `, step ${phase.step} of ${phase.steps}` : ""}`;
}

/** A run that waits or is under way: the newest preview, how far it is and how long it still takes. */
export function RunningRun({ video }: { video: Video }) {
  const client = useQueryClient();
  const { doing, isBusy } = useVideoActions();
  const preview = usePreview(video.id);
  const shown = preview?.url ?? (video.variants.includes("picture") ? contentUrl(video.id, "picture") : undefined);
  const eta = video.phase?.etaSeconds;
  const cancel = () => doing(async () => putVideo(client, await cancelVideo(video.id)));
  return (
    <>
      <div className={styles.area}>
        <div
          className={classNames(styles.box, !preview && styles.waiting, isSmall(video) && preview && styles.pixels)}
          style={boxStyle(video)}
        >
          {shown !== undefined && (
            <img
              src={shown}
              alt={preview ? `Preview after step ${preview.step} of ${preview.steps}` : "The picture that is animated"}
            />
          )}
          {preview && (
            <span className={styles.stepBadge}>
              Preview · {preview.step}/{preview.steps}
            </span>
          )}
        </div>
      </div>
      <div className={styles.progress}>
        <div>
          <span role="status">{phaseWords(video)}</span>
          <span className={styles.soft}>
            {eta !== undefined && eta !== null ? `${durationWords(eta)} left` : `${video.progress} %`}
          </span>
        </div>
        <progress max={100} value={video.progress} aria-label="Progress of the whole video" />
        <Button icon={X} disabled={isBusy} onClick={() => void cancel()}>
          Cancel
        </Button>
      </div>
    </>
  );
}

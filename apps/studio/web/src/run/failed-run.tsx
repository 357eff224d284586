import { Pencil, RotateCcw } from "lucide-react";
import type { Video } from "../api/types";
import { useVideoActions } from "../state/actions";
import { Button } from "../ui/button";
import { classNames } from "../ui/class-names";
import { plainSentence } from "../ui/words";
import styles from "./run-stage.module.css";

/** A run that failed or was cancelled: why, and what can be done. */
export function FailedRun({ video }: { video: Video }) {
  const { edit, again, isBusy } = useVideoActions();
  const isCancelled = video.error?.code === "cancelled";
  return (
    <div className={styles.area}>
      <div className={classNames(styles.failed, isCancelled && styles.cancelled)}>
        <h3>{isCancelled ? "You stopped this run" : "This run did not work"}</h3>
        <p>
          {isCancelled
            ? "Nothing of it was kept but its settings."
            : plainSentence(video.error?.message ?? "The server gave no reason.")}
        </p>
        <div className={styles.actions}>
          <Button icon={Pencil} look="primary" disabled={isBusy} onClick={() => void edit(video)}>
            Change the settings
          </Button>
          <Button icon={RotateCcw} disabled={isBusy} onClick={() => void again(video)}>
            Try again
          </Button>
        </div>
      </div>
    </div>
  );
}

import { useQueryClient } from "@tanstack/react-query";
import { Columns2, Dices, Pencil, StepForward, Timer, Trash2 } from "lucide-react";
import { Link, useLocation } from "wouter";
import { deleteVideo, profileUrl } from "../api/client";
import { dropVideo, useVideo } from "../api/queries";
import type { Video } from "../api/types";
import { Player } from "../player/player";
import { useVideoActions } from "../state/actions";
import { sentenceOf } from "../state/notices";
import { Button, IconButton } from "../ui/button";
import buttons from "../ui/button.module.css";
import { classNames } from "../ui/class-names";
import { durationWords, whenWords } from "../ui/words";
import { DownloadMenu } from "./download-menu";
import { Facts } from "./facts";
import { FailedRun } from "./failed-run";
import styles from "./run-stage.module.css";
import { RunningRun } from "./running-run";

/** One run: on its way, finished or failed. */
export function RunStage({ id }: { id: string }) {
  const { data: video, error } = useVideo(id);
  if (error)
    return (
      <div className={styles.message}>
        <h2>This video cannot be shown</h2>
        <p>{sentenceOf(error)}</p>
        <Link href="/">Make a new one</Link>
      </div>
    );
  if (!video) return <p className={styles.message}>Loading …</p>;
  return (
    <div className={styles.run}>
      <Head video={video} />
      {video.status === "completed" && <Player key={video.id} video={video} />}
      {video.status === "failed" && <FailedRun video={video} />}
      {(video.status === "queued" || video.status === "in_progress") && <RunningRun video={video} />}
      {video.status === "completed" && <Actions video={video} />}
      <Facts video={video} />
    </div>
  );
}

const TITLES = { queued: "Waiting", in_progress: "In progress", completed: "Finished", failed: "Failed" } as const;

function titleOf({ status, error }: Video): string {
  return status === "failed" && error?.code === "cancelled" ? "Cancelled" : TITLES[status];
}

function Head({ video }: { video: Video }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const { doing, edit } = useVideoActions();
  const { created_at, started_at, completed_at, status } = video;
  const took =
    status === "completed" && started_at !== null && completed_at !== null ? completed_at - started_at : undefined;
  const remove = () =>
    doing(async () => {
      await deleteVideo(video.id);
      dropVideo(client, video.id);
      navigate("/");
    });
  return (
    <div className={styles.head}>
      <div>
        <h2>{titleOf(video)}</h2>
        <p className={styles.soft}>
          Seed {String(video.settings.seed ?? "by chance")} · {String(video.settings.steps)} steps · {video.model} ·{" "}
          {whenWords(completed_at ?? created_at)}
          {took !== undefined && ` · took ${durationWords(took)}`}
        </p>
      </div>
      <IconButton icon={Pencil} label="Change the settings" onClick={() => void edit(video)} />
      <IconButton icon={Trash2} label="Delete this run" onClick={() => void remove()} />
    </div>
  );
}

function Actions({ video }: { video: Video }) {
  const { again, extend, isBusy } = useVideoActions();
  const link = classNames(buttons.button, buttons.plain, styles.link);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be read as a form
    <div className={styles.actions} role="group" aria-label="What next">
      <Button icon={Dices} disabled={isBusy} onClick={() => void again(video)}>
        Another seed
      </Button>
      <Button icon={StepForward} disabled={isBusy} onClick={() => void extend(video)}>
        Extend
      </Button>
      <Link href={`/compare/${video.id}`} className={link}>
        <Columns2 size={16} aria-hidden="true" />
        Compare
      </Link>
      {video.profile && (
        <a className={link} href={profileUrl(video.id)} target="_blank" rel="noreferrer">
          <Timer size={16} aria-hidden="true" />
          Profile
        </a>
      )}
      <DownloadMenu video={video} />
    </div>
  );
}

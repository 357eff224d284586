import { Film, TriangleAlert } from "lucide-react";
import { Link, useRoute } from "wouter";
import { contentUrl } from "../api/client";
import { usePreview, useVideos } from "../api/queries";
import type { Video } from "../api/types";
import { Button } from "../ui/button";
import { classNames } from "../ui/class-names";
import { whenWords } from "../ui/words";
import styles from "./history.module.css";

function Thumb({ video }: { video: Video }) {
  const preview = usePreview(video.id);
  const variant = video.status === "completed" ? "thumbnail" : "picture";
  const url = video.variants.includes(variant) ? contentUrl(video.id, variant) : undefined;
  const shown = video.status === "in_progress" ? (preview?.url ?? url) : url;
  return (
    <span className={styles.thumb}>
      {shown === undefined ? <Film size={18} aria-hidden="true" /> : <img src={shown} alt="" />}
      {video.status === "failed" && (
        <span className={styles.badge}>
          <TriangleAlert size={14} aria-hidden="true" />
        </span>
      )}
      {video.status === "in_progress" && (
        <span className={styles.bar} style={{ width: `${Math.max(2, video.progress)}%` }} />
      )}
    </span>
  );
}

function stateWords({ status, progress, error, completed_at, created_at }: Video): string {
  if (status === "queued") return "Waiting";
  if (status === "in_progress") return `${progress} %`;
  if (status === "failed") return error?.code === "cancelled" ? "Cancelled" : "Failed";
  return whenWords(completed_at ?? created_at);
}

function Item({ video, href, isHere }: { video: Video; href: string; isHere: boolean }) {
  const { numFrames, steps, seed } = video.settings;
  return (
    <li>
      <Link
        href={href}
        className={classNames(styles.item, isHere && styles.here)}
        aria-current={isHere ? "true" : undefined}
      >
        <Thumb video={video} />
        <span className={styles.text}>
          <strong>Seed {String(seed ?? "by chance")}</strong>
          <span>
            {String(numFrames)} frames · {String(steps)} steps
          </span>
          <span>{stateWords(video)}</span>
        </span>
      </Link>
    </li>
  );
}

/** All videos of the server, the newest first. While two are compared, a click chooses the second. */
export function History() {
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useVideos();
  const [isRun, run] = useRoute("/run/:id");
  const [isCompare, compare] = useRoute("/compare/:a/:b?");
  const videos = data?.pages.flatMap((page) => page.data) ?? [];
  const hrefOf = (video: Video) =>
    isCompare && video.status === "completed" && video.id !== compare.a
      ? `/compare/${compare.a}/${video.id}`
      : `/run/${video.id}`;
  const isHere = ({ id }: Video) => (isRun && run.id === id) || (isCompare && (compare.a === id || compare.b === id));
  return (
    <aside className={styles.history} aria-label="History">
      <h2>{isCompare ? "Choose what to compare with" : "History"}</h2>
      {error && <p className={styles.empty}>{error.message}</p>}
      {data && videos.length === 0 && (
        <p className={styles.empty}>Videos that you make are kept here, with all their settings.</p>
      )}
      <ul className={styles.list}>
        {videos.map((video) => (
          <Item key={video.id} video={video} href={hrefOf(video)} isHere={isHere(video)} />
        ))}
      </ul>
      {hasNextPage && (
        <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older ones
        </Button>
      )}
    </aside>
  );
}

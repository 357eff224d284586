import type { OptionValue, Video } from "../api/types";
import { bytesWords, durationWords, nameWords } from "../ui/words";
import styles from "./facts.module.css";

const valueWords = (value: OptionValue): string =>
  Array.isArray(value) ? value.join(", ") : typeof value === "boolean" ? (value ? "yes" : "no") : String(value);

/** Settings that are said once, in one place: the size. */
const TOGETHER = new Set(["width", "height"]);

/** The settings of a video as pairs of words, in the order of the option contract. */
export function settingPairs(video: Video): [name: string, words: string][] {
  const others = Object.entries(video.settings)
    .filter(([name, value]) => value !== null && !TOGETHER.has(name))
    .map(([name, value]): [string, string] => [nameWords(name), valueWords(value)]);
  return [["Size", video.size.replace("x", "×")], ...others];
}

function Stages({ timings }: { timings: Readonly<Record<string, number>> }) {
  const stages = Object.entries(timings).filter(([, seconds]) => seconds > 0);
  const total = stages.reduce((sum, [, seconds]) => sum + seconds, 0);
  if (total === 0) return null;
  return (
    <ul className={styles.stages} aria-label="Where the time went">
      {stages.map(([name, seconds]) => (
        <li key={name} style={{ flexGrow: seconds / total }}>
          <span>{nameWords(name)}</span> {durationWords(seconds)}
        </li>
      ))}
    </ul>
  );
}

/** All settings of a run, and where its time went. */
export function Facts({ video }: { video: Video }) {
  return (
    <section className={styles.facts} aria-label="Settings of this run">
      {video.timings && <Stages timings={video.timings} />}
      <details className={styles.details} open={matchMedia("(min-width: 761px)").matches}>
        <summary>All settings</summary>
        <dl>
          {settingPairs(video).map(([name, words]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{words}</dd>
            </div>
          ))}
          {video.peak_bytes !== null && (
            <div>
              <dt>Peak memory</dt>
              <dd>{bytesWords(video.peak_bytes)}</dd>
            </div>
          )}
        </dl>
      </details>
    </section>
  );
}

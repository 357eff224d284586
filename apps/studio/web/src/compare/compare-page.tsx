import { type Ref, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useClip, useVideo, useVideos } from "../api/queries";
import type { Video } from "../api/types";
import { clipFacts } from "../player/player";
import { useTransport } from "../player/transport";
import { TransportBar } from "../player/transport-bar";
import { useTransportKeys } from "../player/use-transport-keys";
import { VideoBox } from "../player/video-box";
import { settingPairs } from "../run/facts";
import fields from "../ui/field.module.css";
import { whenWords } from "../ui/words";
import styles from "./compare-page.module.css";

/** Two runs side by side, at the same frame, and what is different about them. b: undefined until it is chosen. */
export function ComparePage({ a, b }: { a: string; b: string | undefined }) {
  const [, navigate] = useLocation();
  const first = useVideo(a).data;
  const finished =
    useVideos()
      .data?.pages.flatMap(({ data }) => data)
      .filter(({ status }) => status === "completed") ?? [];
  // The run before is what most people want to compare with.
  const other = b ?? finished.find(({ id }) => id !== a)?.id;
  useEffect(() => {
    if (b === undefined && other !== undefined) navigate(`/compare/${a}/${other}`, { replace: true });
  }, [a, b, other, navigate]);
  if (!first) return <p className={styles.message}>Loading …</p>;
  if (other === undefined)
    return (
      <div className={styles.message}>
        <h2>There is nothing to compare with yet</h2>
        <p>Make a second video, for instance with another seed.</p>
        <Link href={`/run/${a}`}>Back to the first</Link>
      </div>
    );
  return <Pair key={`${a} ${other}`} a={first} bId={other} finished={finished} />;
}

function Pair({ a, bId, finished }: { a: Video; bId: string; finished: readonly Video[] }) {
  const b = useVideo(bId).data;
  const [refA, refB] = [useRef<HTMLVideoElement>(null), useRef<HTMLVideoElement>(null)];
  const [contentA, contentB] = [useClip(a.id, true), useClip(bId, b !== undefined)];
  const [isReady, setReady] = useState(false);
  const areThere = contentA.url !== undefined && contentB.url !== undefined;
  useEffect(() => setReady(areThere), [areThere]);
  const [factsA, factsB] = [clipFacts(a), b ? clipFacts(b) : clipFacts(a)];
  // The longer one leads, so that all of it is seen.
  const isLed = factsB.numFrames / factsB.fps > factsA.numFrames / factsA.fps;
  const facts = isLed ? factsB : factsA;
  const transport = useTransport(isLed ? [refB, refA] : [refA, refB], facts, `${a.id} ${bId} ${isReady}`);
  useTransportKeys(transport, facts);
  if (!b) return <p className={styles.message}>Loading …</p>;
  const side = (video: Video, ref: Ref<HTMLVideoElement>, { url, error }: typeof contentA, name: "A" | "B") => (
    <Side name={name} video={video} {...{ a, b, finished }}>
      <VideoBox ref={ref} video={video} url={url} error={error} onPress={transport.toggle} />
    </Side>
  );
  return (
    <div className={styles.page}>
      <h2>Compare</h2>
      <div className={styles.sides}>
        {side(a, refA, contentA, "A")}
        {side(b, refB, contentB, "B")}
      </div>
      <TransportBar transport={transport} facts={facts} />
      <Differences a={a} b={b} />
    </div>
  );
}

interface SideProps {
  name: "A" | "B";
  video: Video;
  a: Video;
  b: Video;
  finished: readonly Video[];
  children: React.ReactNode;
}

function Side({ name, video, a, b, finished, children }: SideProps) {
  const [, navigate] = useLocation();
  const choose = (id: string) => navigate(name === "A" ? `/compare/${id}/${b.id}` : `/compare/${a.id}/${id}`);
  const listed = finished.some(({ id }) => id === video.id) ? finished : [video, ...finished];
  return (
    <section className={styles.side} aria-label={`Video ${name}`}>
      <div className={styles.choice}>
        <span className={styles.letter} aria-hidden="true">
          {name}
        </span>
        <select
          className={fields.select}
          aria-label={`Video ${name}`}
          value={video.id}
          onChange={({ target }) => choose(target.value)}
        >
          {listed.map((each) => (
            <option key={each.id} value={each.id}>
              Seed {String(each.settings.seed)}, {String(each.settings.steps)} steps, {whenWords(each.created_at)}
            </option>
          ))}
        </select>
      </div>
      {children}
    </section>
  );
}

function Differences({ a, b }: { a: Video; b: Video }) {
  const [pairsA, pairsB] = [new Map(settingPairs(a)), new Map(settingPairs(b))];
  const names = [...new Set([...pairsA.keys(), ...pairsB.keys()])].filter(
    (name) => pairsA.get(name) !== pairsB.get(name),
  );
  if (names.length === 0) return <p className={styles.same}>Both have the same settings.</p>;
  return (
    <table className={styles.table}>
      <caption>What is different</caption>
      <thead>
        <tr>
          <th scope="col">Setting</th>
          <th scope="col">A</th>
          <th scope="col">B</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{pairsA.get(name) ?? "–"}</td>
            <td>{pairsB.get(name) ?? "–"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

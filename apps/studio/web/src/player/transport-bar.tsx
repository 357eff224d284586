import { Pause, Play, Repeat, SkipBack, SkipForward } from "lucide-react";
import { IconButton } from "../ui/button";
import styles from "./player.module.css";
import type { ClipFacts, Transport } from "./transport";

const RATES = [0.25, 0.5, 1, 2];

/** Play, loop, single frames, a scrubber and the speed. */
export function TransportBar({ transport, facts }: { transport: Transport; facts: ClipFacts }) {
  const { frame, isPlaying, isLooping, rate, seek, toggle, setLooping, setRate } = transport;
  const last = facts.numFrames - 1;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be read as a form
    <div className={styles.bar} role="group" aria-label="Playback">
      <IconButton icon={isPlaying ? Pause : Play} label={isPlaying ? "Pause" : "Play"} onClick={toggle} />
      <IconButton icon={SkipBack} label="Frame before" onClick={() => seek(frame - 1)} disabled={frame === 0} />
      <IconButton icon={SkipForward} label="Next frame" onClick={() => seek(frame + 1)} disabled={frame === last} />
      <input
        className={styles.scrub}
        type="range"
        min={0}
        max={last}
        value={frame}
        aria-label="Frame"
        aria-valuetext={`frame ${frame + 1} of ${facts.numFrames}`}
        onChange={({ target }) => seek(target.valueAsNumber)}
      />
      <output className={styles.count}>
        {frame + 1} / {facts.numFrames}
      </output>
      <IconButton icon={Repeat} label="Loop" aria-pressed={isLooping} onClick={() => setLooping(!isLooping)} />
      <select
        className={styles.rate}
        aria-label="Speed"
        value={rate}
        onChange={({ target }) => setRate(Number(target.value))}
      >
        {RATES.map((each) => (
          <option key={each} value={each}>
            {each}×
          </option>
        ))}
      </select>
    </div>
  );
}

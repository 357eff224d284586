import { useId } from "react";
import styles from "./field.module.css";

/** A number between two others, by sliding or by typing. */
export interface SliderProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step?: number;
  /** The most that can be typed, where the slider ends before it. */
  mostTyped?: number;
  /** What the number means in words, such as `2.0 s`; read aloud as well. */
  words?: string;
  onChange: (value: number) => void;
}

/** A slider with its label before it and its value behind it, which can be typed. */
export function Slider({ label, value, min, max, step = 1, mostTyped = max, words, onChange }: SliderProps) {
  const id = useId();
  const take = (text: string) => {
    const typed = Number(text);
    if (text !== "" && Number.isFinite(typed)) onChange(Math.min(mostTyped, Math.max(min, typed)));
  };
  return (
    <div className={styles.field}>
      <div className={styles.head}>
        <label htmlFor={id}>{label}</label>
        {words && <span className={styles.words}>{words}</span>}
      </div>
      <div className={styles.slide}>
        <input
          id={id}
          className={styles.range}
          type="range"
          {...{ min, max, step, value }}
          aria-valuetext={words === undefined ? undefined : `${value}, ${words}`}
          onChange={({ target }) => take(target.value)}
        />
        <input
          className={styles.number}
          type="number"
          inputMode="decimal"
          aria-label={`${label}, as a number`}
          {...{ min, max: mostTyped, step, value }}
          onChange={({ target }) => take(target.value)}
        />
      </div>
    </div>
  );
}

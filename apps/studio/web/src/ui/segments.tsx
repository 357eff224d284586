import { useId } from "react";
import styles from "./segments.module.css";

/** One of a few words, all of them in sight. */
export interface SegmentsProps<T extends string> {
  label: string;
  isLabelHidden?: boolean;
  value: T | undefined;
  choices: readonly { value: T; text: string; hint?: string }[];
  onChange: (value: T) => void;
}

/** A row of radio buttons that looks like one control. */
export function Segments<T extends string>({ label, isLabelHidden, value, choices, onChange }: SegmentsProps<T>) {
  const name = useId();
  return (
    <fieldset className={styles.field}>
      <legend className={isLabelHidden ? "visually-hidden" : styles.label}>{label}</legend>
      <div className={styles.row}>
        {choices.map((choice) => (
          <label key={choice.value} className={styles.choice} title={choice.hint}>
            <input
              type="radio"
              name={name}
              value={choice.value}
              checked={choice.value === value}
              onChange={() => onChange(choice.value)}
            />
            <span>{choice.text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

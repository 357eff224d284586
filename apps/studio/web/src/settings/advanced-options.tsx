import { ChevronRight, RotateCcw } from "lucide-react";
import { useModels, useOptions } from "../api/queries";
import { useDraft } from "../state/draft";
import { Button } from "../ui/button";
import fields from "../ui/field.module.css";
import styles from "./advanced-options.module.css";
import { OptionField } from "./option-field";

/** Options that have a place of their own on the page. */
const ELSEWHERE = new Set(["image", "numFrames", "motionBucketId", "steps", "sampler", "seed", "fit", "focus", "fast"]);

/** All other rows of the option contract, so that an option that is added to it appears by itself. */
export function AdvancedOptions() {
  const { data: rows = [] } = useOptions();
  const { data: models = [] } = useModels();
  const { options, setOptions, setOption, model, profile, setProfile } = useDraft();
  const defaults = (models.find(({ id }) => id === model) ?? models[0])?.defaults ?? {};
  const shown = rows.filter(({ group, name }) => group === "video" && !ELSEWHERE.has(name));
  const numSet = shown.filter(({ name }) => options[name] !== undefined).length;
  return (
    <details className={styles.details}>
      <summary>
        <ChevronRight size={14} aria-hidden="true" />
        Advanced
        {numSet > 0 && <span className={styles.count}>{numSet} set</span>}
      </summary>
      <div className={styles.rows}>
        {shown.map((row) => (
          <OptionField
            key={row.name}
            row={row}
            value={options[row.name]}
            fallback={defaults[row.name] ?? row.default}
            onChange={(value) => setOption(row.name, value)}
          />
        ))}
        <label className={fields.check}>
          <input type="checkbox" checked={profile} onChange={({ target }) => setProfile(target.checked)} />
          Measure where the time goes
        </label>
        {Object.keys(options).length > 0 && (
          <Button icon={RotateCcw} onClick={() => setOptions({})}>
            All settings as the model has them
          </Button>
        )}
      </div>
    </details>
  );
}

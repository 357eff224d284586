import { useId } from "react";
import { useModels, useOptions } from "../api/queries";
import type { OptionValue } from "../api/types";
import { useDraft } from "../state/draft";
import fields from "../ui/field.module.css";
import { Segments } from "../ui/segments";
import { Slider } from "../ui/slider";

/** Steps of the presets, as multiples of the model's own number. */
const SHARES = { fast: 0.4, standard: 1, fine: 2 } as const;
type Preset = keyof typeof SHARES;

/** Steps that the slider offers at most; more can be typed. */
const SLIDER_SHARE = 4;

/** How long the model may take: presets, the steps themselves and the sampler. */
export function Quality() {
  const { options, setOption, model } = useDraft();
  const { data: models = [] } = useModels();
  const { data: rows = [] } = useOptions();
  const samplerId = useId();
  const own = Number((models.find(({ id }) => id === model) ?? models[0])?.defaults.steps ?? 25);
  const steps = Number(options.steps ?? own);
  const stepsOf = (preset: Preset) => Math.max(1, Math.round(own * SHARES[preset]));
  // Where the pipeline has a way of its own to be fast, that is what fast means.
  const hasFast = rows.some(({ name, kind }) => name === "fast" && kind === "boolean");
  const preset = (["fast", "standard", "fine"] as const).find((each) =>
    hasFast && each === "fast" ? options.fast === true : options.fast !== true && steps === stepsOf(each),
  );
  const take = (to: Preset) => {
    if (hasFast) setOption("fast", to === "fast" ? true : undefined);
    setOption("steps", to === "standard" || (hasFast && to === "fast") ? undefined : stepsOf(to));
  };
  const samplers = rows.find(({ name }) => name === "sampler");
  return (
    <>
      <Segments
        label="Quality"
        value={preset}
        choices={[
          { value: "fast", text: "Fast" },
          { value: "standard", text: "Standard" },
          { value: "fine", text: "Fine" },
        ]}
        onChange={take}
      />
      <Slider
        label="Steps"
        value={steps}
        min={1}
        max={Math.max(SLIDER_SHARE * own, steps)}
        {...(rows.find(({ name }) => name === "steps")?.max && {
          mostTyped: rows.find(({ name }) => name === "steps")!.max!,
        })}
        onChange={(value) => setOption("steps", Math.round(value) === own ? undefined : Math.round(value))}
      />
      {samplers?.values && (
        <div className={fields.field}>
          <label className={fields.head} htmlFor={samplerId}>
            Sampler
          </label>
          <select
            id={samplerId}
            className={fields.select}
            value={String(options.sampler ?? "")}
            onChange={({ target }) => setOption("sampler", (target.value || undefined) as OptionValue | undefined)}
          >
            <option value="">The model's own</option>
            {samplers.values.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
      )}
    </>
  );
}

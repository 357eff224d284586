import { Dices, Image, Sparkles } from "lucide-react";
import { type FormEvent, useId } from "react";
import { Link } from "wouter";
import { ApiError } from "../api/client";
import { useModels, useOptions } from "../api/queries";
import { randomSeed, useVideoActions } from "../state/actions";
import { useDraft } from "../state/draft";
import { Button, IconButton } from "../ui/button";
import { classNames } from "../ui/class-names";
import fields from "../ui/field.module.css";
import { Slider } from "../ui/slider";
import { bytesWords, durationWords } from "../ui/words";
import { AdvancedOptions } from "./advanced-options";
import styles from "./composer.module.css";
import { Quality } from "./quality";
import { useEstimate } from "./use-estimate";

function PictureCard() {
  const { picture } = useDraft();
  return (
    <Link href="/" className={styles.picture}>
      <span className={styles.thumb}>
        {picture ? <img src={picture.url} alt="" /> : <Image size={18} aria-hidden="true" />}
      </span>
      <span className={styles.pictureText}>
        <strong>{picture ? picture.name : "No picture yet"}</strong>
        <span>{picture ? "See and move the crop" : "Drop, paste or choose one"}</span>
      </span>
    </Link>
  );
}

function ModelChoice() {
  const { data: models = [] } = useModels();
  const { model, setModel } = useDraft();
  const id = useId();
  return (
    <div className={fields.field}>
      <label className={fields.head} htmlFor={id}>
        Model
      </label>
      <select
        id={id}
        className={fields.select}
        value={model ?? models[0]?.id}
        onChange={({ target }) => setModel(target.value)}
      >
        {models.map((each) => (
          <option key={each.id} value={each.id}>
            {each.title || each.id}
          </option>
        ))}
      </select>
    </div>
  );
}

function Seed() {
  const { options, setOption } = useDraft();
  const id = useId();
  return (
    <div className={fields.field}>
      <label className={fields.head} htmlFor={id}>
        Seed
      </label>
      <div className={fields.together}>
        <input
          id={id}
          className={fields.text}
          inputMode="numeric"
          pattern="[0-9]*"
          placeholder="Another one each time"
          value={String(options.seed ?? "")}
          onChange={({ target }) => setOption("seed", target.value.replaceAll(/\D/g, "") || undefined)}
        />
        <IconButton
          icon={Dices}
          look="plain"
          label="Choose a seed by chance"
          onClick={() => setOption("seed", randomSeed())}
        />
      </div>
    </div>
  );
}

const motionWords = (motion: number) => (motion < 70 ? "calm" : motion < 170 ? "moderate" : "lively");

/** Frames that the slider offers; more can be typed. */
const SLIDER_CLIPS = 2;

function Sliders() {
  const { options, setOption } = useDraft();
  const { data: estimate } = useEstimate();
  const { data: models = [] } = useModels();
  const { data: rows = [] } = useOptions();
  const { model } = useDraft();
  const defaults = (models.find(({ id }) => id === model) ?? models[0])?.defaults ?? {};
  const numberOf = (name: string, otherwise: number) => Number(options[name] ?? defaults[name] ?? otherwise);
  const [frames, motion, fps] = [numberOf("numFrames", 14), numberOf("motionBucketId", 127), numberOf("fps", 7)];
  const mostFrames = rows.find(({ name }) => name === "numFrames")?.max ?? undefined;
  return (
    <>
      <Slider
        label="Length in frames"
        value={frames}
        min={1}
        max={Math.max(SLIDER_CLIPS * Number(defaults.numFrames ?? frames), frames)}
        {...(mostFrames !== undefined && { mostTyped: mostFrames })}
        words={`${(estimate?.settings.numFrames === frames ? estimate.seconds : frames / fps).toFixed(1)} s at ${fps} fps`}
        onChange={(value) => setOption("numFrames", Math.round(value))}
      />
      <Slider
        label="Motion"
        value={motion}
        min={1}
        max={255}
        mostTyped={1000}
        words={motionWords(motion)}
        onChange={(value) => setOption("motionBucketId", value)}
      />
    </>
  );
}

function Cost() {
  const { data: estimate, error, isPending } = useEstimate();
  if (error) {
    const fields = error instanceof ApiError ? error.fields : [];
    return <p className={styles.fault}>{fields[0]?.detail ?? error.message}</p>;
  }
  if (isPending || !estimate) return <p className={styles.cost}>Estimating …</p>;
  const { queue } = estimate;
  const before = queue.waiting + queue.running;
  return (
    <dl className={styles.cost}>
      <div>
        <dt>Time</dt>
        <dd>about {durationWords(estimate.estimatedSeconds)}</dd>
      </div>
      <div>
        <dt>Memory</dt>
        <dd>{bytesWords(estimate.memoryBytes)}</dd>
      </div>
      {before > 0 && (
        <div>
          <dt>Before it</dt>
          <dd>{before === 1 ? "1 video" : `${before} videos`}</dd>
        </div>
      )}
    </dl>
  );
}

/** Everything that the next video is made with, and the button that makes it. */
export function Composer() {
  const { picture } = useDraft();
  const { generate, isBusy } = useVideoActions();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void generate();
  };
  return (
    <form className={styles.composer} aria-label="New video" onSubmit={submit}>
      <div className={styles.fields}>
        <PictureCard />
        <ModelChoice />
        <Sliders />
        <Quality />
        <Seed />
        <AdvancedOptions />
      </div>
      <div className={classNames(styles.foot, picture && styles.ready)}>
        <Cost />
        <Button type="submit" look="primary" icon={Sparkles} className={styles.go} disabled={!picture || isBusy}>
          {picture ? "Generate" : "Choose a picture first"}
        </Button>
      </div>
    </form>
  );
}

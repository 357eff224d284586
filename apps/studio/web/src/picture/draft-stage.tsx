import { ClipboardPaste, ImagePlus, Link2, X } from "lucide-react";
import { type FormEvent, useId, useRef } from "react";
import { useEstimate } from "../settings/use-estimate";
import { useDraft } from "../state/draft";
import { Button, IconButton } from "../ui/button";
import fields from "../ui/field.module.css";
import { CropEditor } from "./crop-editor";
import styles from "./draft-stage.module.css";
import { PICTURE_TYPES } from "./load-picture";
import { SAMPLES } from "./samples";
import { useTakePicture } from "./use-picture";

/** A button that opens the system's choice of files. */
export function ChoosePicture({ look, children }: { look?: "primary" | "plain"; children: string }) {
  const take = useTakePicture();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        className="visually-hidden"
        type="file"
        accept={PICTURE_TYPES}
        tabIndex={-1}
        aria-hidden="true"
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          if (file) void take(file);
          // The same file can be chosen again.
          target.value = "";
        }}
      />
      <Button icon={ImagePlus} look={look ?? "plain"} onClick={() => input.current?.click()}>
        {children}
      </Button>
    </>
  );
}

function AddressForm() {
  const take = useTakePicture();
  const id = useId();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void take(String(new FormData(event.currentTarget).get("address")));
  };
  return (
    <form className={styles.address} onSubmit={submit}>
      <label htmlFor={id} className="visually-hidden">
        Address of a picture
      </label>
      <input
        id={id}
        className={fields.text}
        name="address"
        type="url"
        required
        placeholder="https://… or paste an address"
      />
      <Button type="submit" icon={Link2}>
        Fetch
      </Button>
    </form>
  );
}

function Empty() {
  const take = useTakePicture();
  const takeSample = async (name: string, url: string) =>
    take(new File([await (await fetch(url)).blob()], name, { type: "image/png" }));
  return (
    <div className={styles.empty}>
      <div className={styles.zone}>
        <h2>Start with a picture</h2>
        <p>Drop it anywhere on this page, paste it, or choose a file. It becomes the first frame.</p>
        <div className={styles.ways}>
          <ChoosePicture look="primary">Choose a picture</ChoosePicture>
          <span className={styles.paste}>
            <ClipboardPaste size={14} aria-hidden="true" /> or press <kbd>Ctrl</kbd> <kbd>V</kbd>
          </span>
        </div>
        <AddressForm />
      </div>
      <h3 className={styles.or}>Or try one of these</h3>
      <ul className={styles.samples}>
        {SAMPLES.map(({ name, title, url }) => (
          <li key={name}>
            <button type="button" onClick={() => void takeSample(name, url)}>
              <img src={url} alt="" width={96} height={96} />
              {title}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Where a video begins: a picture is chosen, then cut. */
export function DraftStage() {
  const { picture, setPicture } = useDraft();
  const { data: estimate } = useEstimate();
  if (!picture) return <Empty />;
  const size = estimate && { width: Number(estimate.settings.width), height: Number(estimate.settings.height) };
  return (
    <div className={styles.draft}>
      <div className={styles.head}>
        <div>
          <h2>First frame</h2>
          <p className={styles.facts}>
            {picture.name} · {picture.size.width}×{picture.size.height}
            {size && ` → ${size.width}×${size.height}`}
          </p>
        </div>
        <ChoosePicture>Other picture</ChoosePicture>
        <IconButton icon={X} label="Remove the picture" onClick={() => setPicture(undefined)} />
      </div>
      {size && <CropEditor picture={picture} frame={size} crop={estimate.crop} />}
    </div>
  );
}

import { type CSSProperties, type PointerEvent, useRef } from "react";
import type { Rectangle, Size } from "../api/types";
import { type Picture, useDraft } from "../state/draft";
import { Segments } from "../ui/segments";
import { coverPart, focusText, MIDDLE, movedFocus, readFocus } from "./crop";
import styles from "./crop-editor.module.css";

const FITS = [
  { value: "cover", text: "Crop", hint: "Cuts off what is beyond the frame" },
  { value: "contain", text: "Bars", hint: "Keeps the whole picture between black bars" },
  { value: "stretch", text: "Stretch", hint: "Distorts the picture to the frame" },
] as const;

const percent = (share: number) => `${100 * share}%`;
const cssSize = ({ width, height }: Size): CSSProperties =>
  ({ aspectRatio: `${width} / ${height}`, "--shape": width / height }) as CSSProperties;

interface EditorProps {
  picture: Picture;
  frame: Size;
  /** The part that is used, in the picture's pixels, as the server says. */
  crop: Rectangle | null;
}

/** How the picture comes into the frame; the part that stays is dragged, or moved by two sliders. */
export function CropEditor({ picture, frame, crop }: EditorProps) {
  const { options, setOption } = useDraft();
  const fit = FITS.find(({ value }) => value === options.fit)?.value ?? "cover";
  return (
    <div className={styles.editor}>
      {fit === "cover" ? (
        <Cover picture={picture} frame={frame} />
      ) : (
        <div className={styles.area}>
          <div className={styles.frame} style={cssSize(frame)}>
            <img className={styles[fit]} src={picture.url} alt="The first frame as the model will see it" />
          </div>
        </div>
      )}
      <div className={styles.foot}>
        <Segments
          label="How it fits the frame"
          isLabelHidden
          value={fit}
          choices={FITS}
          onChange={(to) => setOption("fit", to)}
        />
        {crop && fit === "cover" && (
          <p className={styles.facts}>
            {crop.width === picture.size.width && crop.height === picture.size.height
              ? "Uses the whole picture"
              : `Uses ${crop.width}×${crop.height} of ${picture.size.width}×${picture.size.height}; drag the bright part`}
          </p>
        )}
      </div>
    </div>
  );
}

function Cover({ picture, frame }: Omit<EditorProps, "crop">) {
  const { options, setOption } = useDraft();
  const area = useRef<HTMLDivElement>(null);
  const last = useRef<{ x: number; y: number }>(undefined);
  const focus = typeof options.focus === "string" ? readFocus(options.focus) : MIDDLE;
  const part = coverPart(picture.size, frame, focus);
  const canMove = { x: part.width < 0.999, y: part.height < 0.999 };

  const drag = ({ clientX, clientY }: PointerEvent) => {
    const box = area.current?.getBoundingClientRect();
    if (!last.current || !box) return;
    const [byX, byY] = [(clientX - last.current.x) / box.width, (clientY - last.current.y) / box.height];
    last.current = { x: clientX, y: clientY };
    setOption("focus", focusText(movedFocus(picture.size, frame, focus, byX, byY)));
  };
  const axis = (name: "x" | "y", label: string) => (
    <input
      className={styles.axis}
      type="range"
      min={0}
      max={100}
      step={1}
      value={Math.round(100 * focus[name])}
      aria-label={label}
      disabled={!canMove[name]}
      onChange={({ target }) => setOption("focus", focusText({ ...focus, [name]: target.valueAsNumber / 100 }))}
    />
  );
  return (
    <div className={styles.area}>
      <div ref={area} className={styles.whole} style={cssSize(picture.size)}>
        <img src={picture.url} alt="Your picture; the part outside of the bright area is cut off" draggable={false} />
        <div
          className={styles.part}
          data-part=""
          style={{
            ...{ left: percent(part.left), top: percent(part.top) },
            ...{ width: percent(part.width), height: percent(part.height) },
            cursor: canMove.x || canMove.y ? "move" : "default",
          }}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            last.current = { x: event.clientX, y: event.clientY };
          }}
          onPointerMove={drag}
          onPointerUp={() => {
            last.current = undefined;
          }}
          onPointerCancel={() => {
            last.current = undefined;
          }}
        />
        {axis("x", "Part that stays, from left to right")}
        {axis("y", "Part that stays, from top to bottom")}
      </div>
    </div>
  );
}

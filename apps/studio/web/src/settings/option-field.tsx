import { useId, useState } from "react";
import type { OptionRow, OptionValue } from "../api/types";
import fields from "../ui/field.module.css";
import { nameWords } from "../ui/words";
import { readOption } from "./read-option";

interface OptionFieldProps {
  row: OptionRow;
  /** What was set; undefined for the default. */
  value: OptionValue | undefined;
  /** The default that holds for the chosen model, where it is known. */
  fallback: OptionValue;
  onChange: (value: OptionValue | undefined) => void;
}

const textOf = (value: OptionValue | undefined): string =>
  value === undefined || value === null ? "" : Array.isArray(value) ? value.join(", ") : String(value);

/** The field of one row of the option contract, whatever its kind. */
export function OptionField({ row, value, fallback, onChange }: OptionFieldProps) {
  const id = useId();
  const docId = `${id}-doc`;
  const name = nameWords(row.name);
  const doc = (
    <p id={docId} className={fields.doc}>
      {row.doc.replaceAll("`", "")}
    </p>
  );
  if (row.kind === "boolean")
    return (
      <div className={fields.field}>
        <label className={fields.check}>
          <input
            type="checkbox"
            aria-describedby={docId}
            checked={(value ?? fallback) === true}
            onChange={({ target }) => onChange(target.checked === (fallback === true) ? undefined : target.checked)}
          />
          {name}
        </label>
        {doc}
      </div>
    );
  return (
    <div className={fields.field}>
      <label className={fields.head} htmlFor={id}>
        {name}
        {row.unit !== null && <span className={fields.words}>{row.unit}</span>}
      </label>
      {row.kind === "choice" ? (
        <select
          id={id}
          className={fields.select}
          aria-describedby={docId}
          value={textOf(value)}
          onChange={({ target }) => onChange(target.value || undefined)}
        >
          <option value="">{defaultWords(row, fallback)}</option>
          {row.values?.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : (
        <TypedField {...{ id, docId, row, value, fallback, onChange }} />
      )}
      {doc}
    </div>
  );
}

const defaultWords = ({ defaultText }: OptionRow, fallback: OptionValue): string =>
  fallback === null ? `Default${defaultText ? `: ${defaultText}` : ""}` : `Default: ${textOf(fallback)}`;

function TypedField({ id, docId, row, value, fallback, onChange }: OptionFieldProps & { id: string; docId: string }) {
  const [typed, setTyped] = useState<string>();
  const [fault, setFault] = useState<string>();
  const take = (text: string) => {
    const read = readOption(row, text);
    setTyped(text);
    setFault(read.fault);
    if (read.fault === undefined) onChange(read.value);
  };
  return (
    <>
      <input
        id={id}
        className={fields.text}
        inputMode={["integer", "real", "side", "seed"].includes(row.kind) ? "decimal" : "text"}
        aria-describedby={docId}
        aria-invalid={fault !== undefined}
        placeholder={defaultWords(row, fallback)}
        value={typed ?? textOf(value)}
        onChange={({ target }) => take(target.value)}
        onBlur={() => fault === undefined && setTyped(undefined)}
      />
      {fault !== undefined && (
        <p className={fields.fault} role="alert">
          {fault}
        </p>
      )}
    </>
  );
}

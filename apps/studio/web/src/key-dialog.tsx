import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { signIn, wantsKey } from "./api/client";
import { useModels } from "./api/queries";
import styles from "./key-dialog.module.css";
import { useNotices } from "./state/notices";
import { Button } from "./ui/button";
import fields from "./ui/field.module.css";

/** Asks for the API key where the server wants one. */
export function KeyDialog() {
  const { error } = useModels();
  const client = useQueryClient();
  const { tell } = useNotices();
  const [isTried, setTried] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const isWanted = wantsKey(error);
  useEffect(() => {
    if (isWanted) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isWanted]);
  const take = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    await signIn(String(new FormData(event.currentTarget).get("key")).trim()).catch(tell);
    setTried(true);
    void client.resetQueries();
  };
  return (
    <dialog ref={dialog} className={styles.dialog} aria-labelledby="key-title">
      <form onSubmit={(event) => void take(event)}>
        <h2 id="key-title">This studio asks for a key</h2>
        <p className={fields.doc}>
          Whoever runs it makes one with <code>vd-studio keys add NAME</code>.
        </p>
        {isTried && <p className={fields.fault}>The server does not know that key.</p>}
        <label className={fields.field}>
          Key
          <input className={fields.text} name="key" type="password" autoComplete="off" required />
        </label>
        <Button type="submit" look="primary">
          Continue
        </Button>
      </form>
    </dialog>
  );
}

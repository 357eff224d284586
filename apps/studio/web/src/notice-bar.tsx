import { X } from "lucide-react";
import styles from "./notice-bar.module.css";
import { useNotices } from "./state/notices";
import { IconButton } from "./ui/button";

/** The sentence of what went wrong last, until it is closed. */
export function NoticeBar() {
  const { sentence, clear } = useNotices();
  return (
    <div role="alert">
      {sentence !== undefined && (
        <div className={styles.bar}>
          <p>{sentence}</p>
          <IconButton icon={X} label="Close this message" onClick={clear} />
        </div>
      )}
    </div>
  );
}

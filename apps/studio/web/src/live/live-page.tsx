import styles from "./live-page.module.css";

/** The window of live games, which the server has below `live/`. */
export function LivePage() {
  return <iframe className={styles.window} src="./live/" title="Live game" allow="camera" />;
}

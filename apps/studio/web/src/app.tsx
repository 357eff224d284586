import { Moon, Sun, SunMoon } from "lucide-react";
import { Link, Route, Switch, useRoute } from "wouter";
import { useModels, useServerEvents } from "./api/queries";
import styles from "./app.module.css";
import { ComparePage } from "./compare/compare-page";
import { History } from "./history/history";
import { KeyDialog } from "./key-dialog";
import { LivePage } from "./live/live-page";
import { NoticeBar } from "./notice-bar";
import { DraftStage } from "./picture/draft-stage";
import { useDropTarget } from "./picture/use-drop-target";
import { RunStage } from "./run/run-stage";
import { Composer } from "./settings/composer";
import { useTheme } from "./state/theme";
import { IconButton } from "./ui/button";
import { classNames } from "./ui/class-names";

const THEME_ICONS = { system: SunMoon, light: Sun, dark: Moon } as const;

function Header({ isLost }: { isLost: boolean }) {
  const [theme, nextTheme] = useTheme();
  const [isLive] = useRoute("/live");
  const { data: models } = useModels();
  const tab = (isHere: boolean) => ({
    className: classNames(styles.tab, isHere && styles.here),
    ...(isHere && { "aria-current": "page" as const }),
  });
  return (
    <header className={styles.header}>
      <h1 className={styles.name}>
        <img src="./icon.svg" alt="" width={24} height={24} />
        Studio
      </h1>
      <nav className={styles.tabs} aria-label="Main">
        <Link href="/" {...tab(!isLive)}>
          Create
        </Link>
        <Link href="/live" {...tab(isLive)}>
          Live
        </Link>
      </nav>
      <p className={classNames(styles.state, isLost && styles.lost)} role="status">
        {isLost ? "Connection lost, trying again …" : models?.[0] && `Ready · ${models[0].device.toUpperCase()}`}
      </p>
      <IconButton icon={THEME_ICONS[theme]} label={`Colours: ${theme}`} onClick={nextTheme} />
    </header>
  );
}

/** The whole page: the next video on the left, what is looked at in the middle, all videos on the right. */
export function App() {
  const isLost = useServerEvents();
  const [isLive] = useRoute("/live");
  const isOver = useDropTarget();
  return (
    <>
      <button type="button" className={styles.skip} onClick={() => document.getElementById("stage")?.focus()}>
        Skip to the picture
      </button>
      <Header isLost={isLost} />
      <NoticeBar />
      <div className={classNames(styles.columns, isLive && styles.alone)}>
        {!isLive && <Composer />}
        <main id="stage" className={styles.stage} tabIndex={-1}>
          <Switch>
            <Route path="/live" component={LivePage} />
            <Route path="/run/:id">{({ id }) => <RunStage key={id} id={id} />}</Route>
            <Route path="/compare/:a/:b?">{({ a, b }) => <ComparePage a={a} b={b} />}</Route>
            <Route component={DraftStage} />
          </Switch>
        </main>
        {!isLive && <History />}
      </div>
      <KeyDialog />
      {isOver && <div className={styles.drop}>Drop the picture anywhere</div>}
    </>
  );
}

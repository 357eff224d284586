import { useEffect, useState } from "react";

/** The page's colours: the system's choice, or one of two. */
export type Theme = "system" | "light" | "dark";

const NAME = "vd-studio-theme";
const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** The theme and what takes the next one; kept for the next visit. */
export function useTheme(): [theme: Theme, next: () => void] {
  const [theme, setTheme] = useState(() => THEMES.find((one) => one === localStorage.getItem(NAME)) ?? "system");
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem(NAME, theme);
  }, [theme]);
  return [theme, () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!)];
}

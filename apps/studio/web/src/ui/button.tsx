import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes } from "react";
import styles from "./button.module.css";
import { classNames } from "./class-names";

/** How much a button stands out. */
export type ButtonLook = "primary" | "plain" | "quiet" | "danger";

/** What a button takes besides the attributes of HTML. */
export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: ButtonLook;
  icon?: LucideIcon;
}

const ICON_PX = 16;

/** A button with words, and an icon before them if it has one. */
export function Button({ look = "plain", icon: Icon, className, children, ...rest }: ButtonProps) {
  return (
    <button type="button" className={classNames(styles.button, styles[look], className)} {...rest}>
      {Icon && <Icon size={ICON_PX} aria-hidden="true" />}
      {children}
    </button>
  );
}

/** What a button without words takes; `label` is what it is called. */
export interface IconButtonProps extends Omit<ButtonProps, "children"> {
  label: string;
  icon: LucideIcon;
}

/** A square button that shows an icon alone. */
export function IconButton({ look = "quiet", icon: Icon, label, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className={classNames(styles.button, styles.icon, styles[look], className)}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon size={ICON_PX} aria-hidden="true" />
    </button>
  );
}

import { type ReactNode, useEffect } from "react";

type HeaderProps = {
  title: string;
  /** Shown in the title of the browser's tab if it is not 0. */
  count?: number;
  children?: ReactNode;
  actions?: ReactNode;
};

/** Shows a screen's title and, below it, the sentence in `children`. Also sets the title of the browser's tab. */
export function PageHeader({ title, count = 0, children, actions }: HeaderProps) {
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}${title} · Parley`;
  }, [title, count]);
  return (
    <header className="page-header">
      <div>
        <h1 tabIndex={-1}>
          <bdi>{title}</bdi>
        </h1>
        {children && <p>{children}</p>}
      </div>
      {actions && <div className="actions">{actions}</div>}
    </header>
  );
}

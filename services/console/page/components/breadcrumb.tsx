import type { ReactNode } from "react";
import { t } from "../i18n/t.tsx";
import { Icon } from "./icon.tsx";

/** Shows the way to a screen: the link to its list in `children`, and the screen's title. */
export function Breadcrumb({ title, children }: { title: string; children: ReactNode }) {
  return (
    <nav aria-label={t("Breadcrumb")} className="breadcrumb">
      {children}
      <Icon name="chevronRight" />
      <bdi aria-current="page">{title}</bdi>
    </nav>
  );
}

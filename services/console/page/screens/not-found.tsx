import { Link } from "@tanstack/react-router";
import { PageHeader } from "../components/page-header.tsx";
import { t } from "../i18n/t.tsx";

/** Replaces the screen if the console has none at the address. */
export function NotFound() {
  return (
    <div className="screen">
      <PageHeader title={t("Page not found")}>
        {t("The console has no page at this address. It may be misspelt.")}
      </PageHeader>
      <ul className="links" aria-label={t("Other pages")}>
        <li>
          <Link to="/overview">{t("Overview")}</Link>
        </li>
        <li>
          <Link to="/conversations">{t("Conversations")}</Link>
        </li>
        <li>
          <Link to="/bots">{t("Bots")}</Link>
        </li>
      </ul>
    </div>
  );
}

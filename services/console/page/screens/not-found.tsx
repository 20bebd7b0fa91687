import { mayCall } from "@parley/rpc/access";
import { Link } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import { PageHeader } from "../components/page-header.tsx";
import { t } from "../i18n/t.tsx";
import { findScreen } from "../navigation.ts";

/** Replaces the screen if the console has none at the address. */
export function NotFound() {
  const { role } = useSession();
  return (
    <div className="screen">
      <PageHeader title={t("Page not found")}>
        {t("The console has no page at this address. It may be misspelt.")}
      </PageHeader>
      <ul className="links" aria-label={t("Other pages")}>
        {["/overview", "/conversations", "/bots"].map((path) => {
          const screen = findScreen(path);
          return (
            screen &&
            mayCall(role, screen.reads) && (
              <li key={path}>
                <Link to={screen.to}>{screen.name}</Link>
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

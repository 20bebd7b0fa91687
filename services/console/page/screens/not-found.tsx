import { Link } from "@tanstack/react-router";
import { PageHeader } from "../components/page-header.tsx";

/** Replaces the screen if the console has none at the address. */
export function NotFound() {
  return (
    <div className="screen">
      <PageHeader title="Page not found">The console has no page at this address. It may be misspelt.</PageHeader>
      <ul className="links" aria-label="Other pages">
        <li>
          <Link to="/overview">Overview</Link>
        </li>
        <li>
          <Link to="/conversations">Conversations</Link>
        </li>
        <li>
          <Link to="/bots">Bots</Link>
        </li>
      </ul>
    </div>
  );
}

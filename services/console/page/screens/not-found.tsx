import { Link } from "@tanstack/react-router";

export function NotFound() {
  return (
    <div className="centered">
      <h1>Page not found</h1>
      <p>The address may be misspelt, or the page was removed.</p>
      <Link to="/bots" className="button primary">
        Go to your bots
      </Link>
    </div>
  );
}

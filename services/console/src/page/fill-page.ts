/** The placeholder of the nonce in the built HTML. */
export const NONCE_PLACEHOLDER = "{{nonce}}";
const EDGE_URL_PLACEHOLDER = "{{edge url}}";
const SESSION_PLACEHOLDER = "{{session}}";

/** The values of a response. The session, which GET /auth/session also returns, saves each screen a request. */
export type PageValues = { nonce: string; edgeUrl: string; session: object | undefined };

/** Replaces the placeholders in the built HTML. */
export function fillPage(html: string, { nonce, edgeUrl, session }: PageValues): string {
  const filled = html.replaceAll(NONCE_PLACEHOLDER, nonce).replaceAll(EDGE_URL_PLACEHOLDER, edgeUrl);
  // The session comes last, because a user's name may contain a placeholder.
  // A function returns it, because the name may contain a pattern such as $&.
  return filled.replace(SESSION_PLACEHOLDER, () => escapeHtml(JSON.stringify(session ?? null)));
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

export const NONCE_PLACEHOLDER = "{{nonce}}";
const EDGE_URL_PLACEHOLDER = "{{edge url}}";
const SESSION_PLACEHOLDER = "{{session}}";

/** `session` is the body of GET /auth/session. If the page contains it, the browser need not send that request. */
export type PageValues = { nonce: string; edgeUrl: string; session: object | undefined };

export function fillPage(html: string, { nonce, edgeUrl, session }: PageValues): string {
  const filled = html.replaceAll(NONCE_PLACEHOLDER, nonce).replaceAll(EDGE_URL_PLACEHOLDER, edgeUrl);
  // The session is filled in last, because a user's name may contain a placeholder.
  // The replacement is a function, because the name may contain a replacement pattern such as $&.
  return filled.replace(SESSION_PLACEHOLDER, () => escapeHtml(JSON.stringify(session ?? null)));
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

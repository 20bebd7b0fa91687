import "./preview.css";
import { fetchWithSession, SignedOutError } from "./api/session-fetch.ts";
import { ignoreDroppedFiles } from "./components/dropped-files.ts";
import type { PreviewMessage } from "./components/preview.tsx";
import { readTheme } from "./components/theme.ts";
import { openLanguage } from "./i18n/language.ts";

// Runs the real widget in a frame of the console. The console sends the widget's configuration. The messages that the owner types into the
// widget go to the playground API, authenticated by the owner's sign-in.

const RESTART_DELAY_MS = 200;
/** With these headers, the playground API resumes a reply after a lost connection instead of starting a second reply. */
const RESUME_HEADERS = ["Idempotency-Key", "Last-Event-ID"];

let configuration: PreviewMessage | undefined;
let restartTimer: ReturnType<typeof setTimeout> | undefined;
let startCount = 0;
const fetchFromServer = window.fetch.bind(window);

await openLanguage();
await showTexts();
ignoreDroppedFiles();
const showTheme = () => {
  document.documentElement.dataset.theme = readTheme();
};
showTheme();
// The console page, which contains this frame, stores the theme that the owner chooses.
window.addEventListener("storage", showTheme);
window.fetch = (input, init) => {
  const { pathname } = new URL(String(input), location.href);
  switch (pathname) {
    case "/api/widget/config/":
      return Promise.resolve(Response.json({ bot: configuration?.display }));
    case "/api/chat/":
      return fetchFromPlayground("", init, ["session_id", "message"]);
    case "/api/chat/stop/":
      return fetchFromPlayground("stop/", init, ["session_id", "idempotency_key"]);
    case "/api/chat/rating/":
      // Accepts a rating without storing it: the statistics count only visitors' ratings.
      return Promise.resolve(new Response(null, { status: 204 }));
    default:
      return fetchFromServer(input, init);
  }
};

async function showTexts(): Promise<void> {
  const { t } = await import("./i18n/t.tsx");
  document.title = t("Preview of the widget");
  const heading = document.querySelector("h1 span");
  if (heading) heading.textContent = t("A page of your site");
}

/** Sends a request of the widget to the playground API, with only the named fields of its body. */
async function fetchFromPlayground(
  path: string,
  init: RequestInit | undefined,
  fieldNames: readonly string[],
): Promise<Response> {
  const sent = new Headers(init?.headers);
  const headers = new Headers({ "Content-Type": "application/json" });
  for (const name of RESUME_HEADERS) {
    const value = sent.get(name);
    if (value !== null) headers.set(name, value);
  }
  const fields = JSON.parse(String(init?.body)) as Readonly<Record<string, unknown>>;
  const body = JSON.stringify({
    bot_slug: configuration?.botSlug,
    ...Object.fromEntries(fieldNames.map((name) => [name, fields[name]])),
  });
  const { signal = null, keepalive = false } = init ?? {};
  try {
    return await fetchWithSession(`/api/chat/playground/${path}`, { method: "POST", headers, body, signal, keepalive });
  } catch (error) {
    if (!(error instanceof SignedOutError)) throw error;
    // Does not rethrow, because the widget would treat the error as a lost connection and retry.
    return Response.json({ error: "authentication_required" }, { status: 401 });
  }
}

window.addEventListener("message", ({ origin, source, data }: MessageEvent<PreviewMessage>) => {
  if (origin !== location.origin || source !== window.parent) return;
  configuration = data;
  clearTimeout(restartTimer);
  restartTimer = setTimeout(() => void restart(), startCount === 0 ? 0 : RESTART_DELAY_MS);
});
window.parent.postMessage("ready", location.origin);

/** Starts the widget with the latest configuration. A module runs again only under a new URL. */
async function restart(): Promise<void> {
  (window as { Parley?: { destroy(): void } }).Parley?.destroy();
  const widgetScript = document.querySelector<HTMLElement>("script[data-public-key]");
  // The widget stores its chat session under its public key. So the previews of two bots need different keys.
  if (widgetScript && configuration) widgetScript.dataset.publicKey = `preview:${configuration.botSlug}`;
  const url = `/widget.js?${++startCount}`;
  await import(/* @vite-ignore */ url);
}

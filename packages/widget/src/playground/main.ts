import {
  CONNECTION_FAILURE,
  type Entry,
  findUnanswered,
  SessionStore,
  UNCONFIRMED_TTL_MS,
  UNFINISHED_REPLY_TTL_MS,
} from "../panel/session-store.ts";
import { loadTexts } from "../panel/words.ts";
import { createElement } from "../shared/dom.ts";
import { Failure } from "../shared/failure.ts";
import { directionOf, selectLanguage } from "../shared/language.ts";
import { renderMarkdown } from "../shared/render-markdown.ts";
import { streamTurn } from "../shared/stream-turn.ts";
import { createUuid } from "../shared/uuid.ts";
import { describeError } from "./advice.ts";
import { PLAYGROUND_ENGLISH, type PlaygroundWords } from "./english.ts";
import { Timeline } from "./timeline.ts";
import { createTranscriptRows, fetchExport } from "./transcript.ts";

const { words, lang } = await loadTexts(PLAYGROUND_ENGLISH, selectLanguage(navigator.language), "/");
showTexts();

const byId = <Kind extends HTMLElement>(id: string) => document.getElementById(id) as Kind;

const bot = byId<HTMLInputElement>("bot");
const token = byId<HTMLInputElement>("token");
const message = byId<HTMLTextAreaElement>("message");
const sendButton = byId<HTMLButtonElement>("send");
const stopButton = byId<HTMLButtonElement>("stop");
const messageList = byId("talk");
const status = byId("status");
const download = byId("download");
const timeline = new Timeline(byId("events"), byId("metering"), words, () => performance.now());

const pageOpenedAt = Date.now();
/** Error codes after which a later request with the same key may still get the reply. */
const RETRYABLE = /^(authentication_required|auth_unavailable|unavailable|overloaded|rate_limited)$/;

/** The stored session with the selected bot. The access token is never stored. */
let store = openStore();
/** The ID of the session that is shown. */
let shownSession = "";
/** The elements with the texts of the shown session, by entry ID. */
const boxes = new Map<string, HTMLElement>();
/** Aborts the request of the running turn. Undefined if no turn is running. */
let turn: AbortController | undefined;
/** Asks the service to end the running turn. */
let cancel: (() => void) | undefined;

function showTexts(): void {
  Object.assign(document.documentElement, { lang, dir: directionOf(lang) });
  document.title = `${words.title} · Parley`;
  for (const element of document.querySelectorAll<HTMLElement>("[data-text], [data-placeholder]")) {
    const { text, placeholder } = element.dataset;
    if (text) {
      element.textContent = words[text as keyof PlaygroundWords];
    }
    if (placeholder) {
      element.setAttribute("placeholder", words[placeholder as keyof PlaygroundWords]);
    }
  }
}

function openStore(): SessionStore {
  return new SessionStore(`playground:${bot.value.trim()}`, () => localStorage, createUuid);
}

/** Shows the stored session. If it is not the session shown before, aborts the request of the running turn. */
function showSession(): void {
  const { session, entries } = store.read();
  if (session !== shownSession) {
    turn?.abort();
    forgetTurn();
    shownSession = session;
    boxes.clear();
    byId("session").textContent = session;
    messageList.replaceChildren();
    byId("messages").replaceChildren();
    download.replaceChildren();
    status.textContent = "";
  }
  for (const entry of entries) {
    showEntry(entry);
  }
  if (status.textContent === words.tokenNeeded && !findUnanswered(entries, pageOpenedAt)) {
    status.textContent = "";
  }
}

function startSession(): void {
  stop();
  store.startNew();
  showSession();
}

function stop(): void {
  cancel?.();
  turn?.abort();
}

function forgetTurn(): void {
  turn = undefined;
  cancel = undefined;
  sendButton.disabled = false;
  stopButton.disabled = true;
}

/** Shows a message or a reply. Reuses its element if it is already shown. */
function showEntry({ id, role, text }: Entry): void {
  let box = boxes.get(id);
  if (!box) {
    box = createElement("div", { dir: "auto" });
    boxes.set(id, box);
    const author = createElement("bdi", {}, role === "user" ? words.you : bot.value.trim());
    messageList.append(
      createElement("div", { class: role }, createElement("strong", { class: "author" }, author), box),
    );
  }
  if (role === "user") {
    box.textContent = text;
  } else {
    renderMarkdown(box, text);
  }
  messageList.scrollTop = messageList.scrollHeight;
}

/** Shows an error, with the id of the request if the service responded. */
function showError(error: unknown): void {
  const isFailure = error instanceof Failure;
  status.textContent = isFailure ? describeError(error.code, words) : String(error);
  if (isFailure && error.requestId) {
    status.append(" ", createElement("small", { dir: "ltr" }, `ID ${error.requestId}`));
  }
}

/** Continues the first reply that is not complete. Asks for the access token if none is entered. */
function resume(): void {
  const question = findUnanswered(store.read().entries, pageOpenedAt);
  if (question && !turn) {
    if (token.value) {
      void runTurn(question);
    } else {
      status.textContent = words.tokenNeeded;
    }
  }
}

/** Sends a message. If `pending` has a key, the message was sent before, and the service returns the same reply again. */
async function runTurn(pending: Entry): Promise<void> {
  const { session, entries } = store.read();
  const key = pending.key ?? createUuid();
  const headers = { Authorization: `Bearer ${token.value.trim()}` };
  const target = { bot_slug: bot.value.trim(), session_id: session };
  const ownTurn = new AbortController();
  const { signal } = ownTurn;
  turn = ownTurn;
  cancel = () =>
    void fetch("/api/chat/playground/stop/", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ ...target, idempotency_key: key }),
      keepalive: true,
    }).catch(() => undefined);
  let question: Entry = { expires: Date.now() + UNCONFIRMED_TTL_MS, ...pending, key };
  const id = `${pending.id}:a`;
  // If the message is sent again, the text that is shown stays until the reply starts from the beginning.
  const shownText = entries.find((entry) => entry.id === id)?.text ?? "";
  let reply: Entry = { id, role: "assistant", text: shownText };
  let failure: Failure | undefined;
  store.put(session, question);
  showSession();
  showEntry(reply);
  sendButton.disabled = true;
  stopButton.disabled = false;
  status.textContent = "";
  timeline.start();
  try {
    await streamTurn({
      url: "/api/chat/playground/",
      headers,
      body: { ...target, message: question.text },
      key,
      signal,
      onEvent(name, data, requestId) {
        timeline.add(name, data);
        if (name === "meta") {
          reply = { ...reply, text: "" };
          question = { ...question, expires: Date.now() + UNFINISHED_REPLY_TTL_MS };
          store.put(session, question);
        } else if (name === "token" || name === "blocked") {
          // The fallback of a blocked reply replaces the reply's tokens.
          reply = { ...reply, text: name === "blocked" ? String(data.fallback) : reply.text + String(data.text) };
          showEntry(reply);
        } else if (name === "error") {
          showError(new Failure(String(data.code), 0, requestId));
        } else if (data.finish_reason === "stop") {
          status.textContent = words.complete;
        } else if (data.finish_reason === "cancelled") {
          showError(new Failure("stopped"));
        }
      },
    });
  } catch (error) {
    failure = signal.aborted ? new Failure("stopped") : error instanceof Failure ? error : new Failure("failed");
  }
  if (turn !== ownTurn) {
    return;
  }
  forgetTurn();
  const canResume = failure && (CONNECTION_FAILURE.test(failure.code) || (pending.key && RETRYABLE.test(failure.code)));
  store.put(session, canResume ? question : { ...question, key: undefined });
  store.put(session, reply);
  if (failure) {
    // If the service refused the message, puts the message back into the input, unless another message has been typed there.
    if (!canResume && !signal.aborted && !reply.text) {
      message.value ||= question.text;
    }
    showError(failure);
  }
}

async function showTranscript(): Promise<void> {
  try {
    const transcript = await fetchExport(shownSession, token.value.trim());
    byId("messages").replaceChildren(...createTranscriptRows(transcript, words));
    const href = URL.createObjectURL(new Blob([transcript], { type: "application/json" }));
    download.replaceChildren(createElement("a", { href, download: `session-${shownSession}.json` }, words.download));
  } catch (error) {
    showError(error);
  }
}

byId("connection").addEventListener("submit", (event) => {
  event.preventDefault();
  resume();
});
bot.addEventListener("change", () => {
  // A reload shows the same bot.
  history.replaceState(null, "", `?bot=${encodeURIComponent(bot.value.trim())}`);
  store = openStore();
  showSession();
  resume();
});
token.addEventListener("change", resume);
// Another tab changed the session, or cleared the storage (key null).
addEventListener("storage", ({ key }) => (key === store.itemKey || key === null) && showSession());
addEventListener("online", resume);
byId("new").addEventListener("click", startSession);
byId("fetch").addEventListener("click", () => void showTranscript());
stopButton.addEventListener("click", stop);
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (text && !sendButton.disabled && byId<HTMLFormElement>("connection").reportValidity()) {
    void runTurn({ id: createUuid(), role: "user", text });
    message.value = "";
  }
});
message.addEventListener("keydown", (event) => {
  // The Enter key that confirms the input of an IME has the keyCode 229. `isComposing` does not help: in Safari it is false then.
  if (event.keyCode === 13 && !event.shiftKey) {
    event.preventDefault();
    sendButton.click();
  }
});
for (const scroller of document.querySelectorAll<HTMLElement>(".scroll, #talk")) {
  // Makes the element scrollable with the keyboard.
  scroller.tabIndex = 0;
}
bot.value = new URLSearchParams(location.search).get("bot") ?? "";
store = openStore();
showSession();
resume();

import { renderMarkdown } from "../panel/render-markdown.ts";
import { el } from "../shared/dom.ts";
import { Failure } from "../shared/failure.ts";
import { streamTurn } from "../shared/stream-turn.ts";
import { uuid } from "../shared/uuid.ts";
import { adviceOn } from "./advice.ts";
import { Timeline } from "./timeline.ts";
import { fetchExport, transcriptRows } from "./transcript.ts";

const byId = <Kind extends HTMLElement>(id: string) => document.getElementById(id) as Kind;

const bot = byId<HTMLInputElement>("bot");
const token = byId<HTMLInputElement>("token");
const message = byId<HTMLTextAreaElement>("message");
const sendButton = byId<HTMLButtonElement>("send");
const stopButton = byId<HTMLButtonElement>("stop");
const talk = byId("talk");
const status = byId("status");
const download = byId("download");
const timeline = new Timeline(byId("events"), byId("metering"), () => performance.now());

let sessionId = "";
let turn: AbortController | undefined;

function startSession(): void {
  turn?.abort();
  sessionId = uuid();
  byId("session").textContent = sessionId;
  talk.replaceChildren();
  byId("messages").replaceChildren();
  download.replaceChildren();
  status.textContent = "";
}

/** Adds a message to the session's messages and returns the element for its text. */
function addMessage(role: "user" | "assistant", text = ""): HTMLElement {
  const box = el("div", { dir: "auto" }, text);
  talk.append(el("div", { class: role }, el("strong", { class: "author" }, role), box));
  talk.scrollTop = talk.scrollHeight;
  return box;
}

function showError(error: unknown): void {
  status.textContent = error instanceof Failure ? adviceOn(error.code) : String(error);
}

async function sendMessage(text: string): Promise<void> {
  turn = new AbortController();
  const { signal } = turn;
  addMessage("user", text);
  const box = addMessage("assistant");
  let reply = "";
  sendButton.disabled = true;
  stopButton.disabled = false;
  status.textContent = "";
  timeline.start();
  try {
    await streamTurn({
      url: "/api/chat/playground/",
      headers: { Authorization: `Bearer ${token.value.trim()}` },
      body: { bot_slug: bot.value.trim(), session_id: sessionId, message: text },
      signal,
      onEvent(name, data) {
        timeline.add(name, data);
        if (name === "token" || name === "blocked") {
          // The fallback of a blocked reply replaces the tokens before it.
          reply = name === "blocked" ? String(data.fallback) : reply + String(data.text);
          renderMarkdown(box, reply);
          talk.scrollTop = talk.scrollHeight;
        } else if (name === "error") {
          showError(new Failure(String(data.code)));
        } else if (name === "done" && data.finish_reason === "stop") {
          status.textContent = "The reply is complete.";
        }
      },
    });
  } catch (error) {
    showError(signal.aborted ? new Failure("stopped") : error);
  }
  sendButton.disabled = false;
  stopButton.disabled = true;
}

async function showTranscript(): Promise<void> {
  try {
    const transcript = await fetchExport(sessionId, token.value.trim());
    byId("messages").replaceChildren(...transcriptRows(transcript));
    const href = URL.createObjectURL(new Blob([transcript], { type: "application/json" }));
    download.replaceChildren(el("a", { href, download: `session-${sessionId}.json` }, "Download the JSON"));
  } catch (error) {
    showError(error);
  }
}

byId("connection").addEventListener("submit", (event) => event.preventDefault());
byId("new").addEventListener("click", startSession);
byId("fetch").addEventListener("click", () => void showTranscript());
stopButton.addEventListener("click", () => turn?.abort());
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!sendButton.disabled && byId<HTMLFormElement>("connection").reportValidity()) {
    void sendMessage(message.value.trim());
    message.value = "";
  }
});
message.addEventListener("keydown", (event) => {
  // During an IME composition, Enter confirms the composed characters.
  if (event.key === "Enter" && !(event.shiftKey || event.isComposing)) {
    event.preventDefault();
    sendButton.click();
  }
});
for (const scroller of document.querySelectorAll<HTMLElement>(".scroll, #talk")) {
  // Makes the element scrollable with the keyboard.
  scroller.tabIndex = 0;
}
bot.value = new URLSearchParams(location.search).get("bot") ?? "";
startSession();

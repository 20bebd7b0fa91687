import { showMarkdown } from "../panel/render.ts";
import { uuid } from "../panel/store.ts";
import { el } from "../shared/dom.ts";
import { Failure } from "../shared/failure.ts";
import { streamTurn } from "../shared/stream-turn.ts";
import { adviceOn } from "./advice.ts";
import { Timeline } from "./timeline.ts";
import { fetchExport, transcriptRows } from "./transcript.ts";

const byId = <Kind extends HTMLElement>(id: string) => document.getElementById(id) as Kind;

const bot = byId<HTMLInputElement>("bot");
const token = byId<HTMLInputElement>("token");
const message = byId<HTMLTextAreaElement>("message");
const send = byId<HTMLButtonElement>("send");
const stop = byId<HTMLButtonElement>("stop");
const talk = byId("talk");
const status = byId("status");
const download = byId("download");
const timeline = new Timeline(byId("events"), byId("metering"), () => performance.now());

let session = "";
let turn: AbortController | undefined;

function startSession(): void {
  turn?.abort();
  session = uuid();
  byId("session").textContent = session;
  talk.replaceChildren();
  byId("messages").replaceChildren();
  download.replaceChildren();
  status.textContent = "";
}

/** Adds a message to the conversation and returns the box for its text. */
function say(role: "user" | "assistant", text = ""): HTMLElement {
  const box = el("div", { dir: "auto" }, text);
  talk.append(el("div", { class: role }, el("strong", { class: "who" }, role), box));
  talk.scrollTop = talk.scrollHeight;
  return box;
}

function report(error: unknown): void {
  status.textContent = error instanceof Failure ? adviceOn(error.code) : String(error);
}

async function ask(text: string): Promise<void> {
  turn = new AbortController();
  const { signal } = turn;
  say("user", text);
  const box = say("assistant");
  let answer = "";
  send.disabled = true;
  stop.disabled = false;
  status.textContent = "";
  timeline.start();
  try {
    await streamTurn({
      url: "/api/chat/playground/",
      headers: { Authorization: `Bearer ${token.value.trim()}` },
      body: { bot_slug: bot.value.trim(), session_id: session, message: text },
      signal,
      onEvent(name, data) {
        timeline.add(name, data);
        if (name === "token" || name === "blocked") {
          // What is shown instead of a blocked reply replaces what came of it.
          answer = name === "blocked" ? String(data.fallback) : answer + String(data.text);
          showMarkdown(box, answer);
          talk.scrollTop = talk.scrollHeight;
        } else if (name === "error") {
          report(new Failure(String(data.code)));
        } else if (name === "done" && data.finish_reason === "stop") {
          status.textContent = "The reply is complete.";
        }
      },
    });
  } catch (error) {
    report(signal.aborted ? new Failure("stopped") : error);
  }
  send.disabled = false;
  stop.disabled = true;
}

async function showTranscript(): Promise<void> {
  try {
    const exported = await fetchExport(session, token.value.trim());
    byId("messages").replaceChildren(...transcriptRows(exported));
    const href = URL.createObjectURL(new Blob([exported], { type: "application/json" }));
    download.replaceChildren(el("a", { href, download: `session-${session}.json` }, "Download the JSON"));
  } catch (error) {
    report(error);
  }
}

byId("door").addEventListener("submit", (event) => event.preventDefault());
byId("new").addEventListener("click", startSession);
byId("fetch").addEventListener("click", () => void showTranscript());
stop.addEventListener("click", () => turn?.abort());
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!send.disabled && byId<HTMLFormElement>("door").reportValidity()) {
    void ask(message.value.trim());
    message.value = "";
  }
});
message.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !(event.shiftKey || event.isComposing)) {
    event.preventDefault();
    send.click();
  }
});
for (const box of document.querySelectorAll<HTMLElement>(".scroll, #talk")) {
  // What scrolls must scroll with the keyboard too.
  box.tabIndex = 0;
}
bot.value = new URLSearchParams(location.search).get("bot") ?? "";
startSession();

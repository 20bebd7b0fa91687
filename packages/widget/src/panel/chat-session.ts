import { Failure } from "../shared/failure.ts";
import type { PanelContext } from "../shared/types.ts";
import type { ActiveEntry } from "./message-log.ts";
import { sendMessage } from "./send-message.ts";
import type { Entry, SessionStore } from "./session-store.ts";

/** Callbacks of a chat session's changes. */
export interface ChatView {
  /** Shows the stored entries and the active one. Called at most once per frame while a reply grows. */
  show(entries: readonly Entry[], active?: ActiveEntry): void;
  /** Called when a turn ends. Without a code, the reply is complete; otherwise the code is the reason why it is not. */
  onTurnEnd(replyId: string, code?: string): void;
}

/** How often a message is sent again after `rate_limited`. */
const MAX_RESENDS = 3;

/** Sends the visitor's messages one after the other and stores them with their replies. */
export class ChatSession {
  readonly #context: PanelContext;
  readonly #store: SessionStore;
  readonly #view: ChatView;
  readonly #newId: () => string;
  /** Messages that wait until the running turn has ended. */
  readonly #queue: string[] = [];
  /** Aborts the running turn. */
  #turn: AbortController | undefined;
  #active: ActiveEntry | undefined;
  /** The session ID of the running turn. */
  #sessionId = "";
  /** The message that this tab could not send while offline. Other tabs have their own. */
  #offlineEntry: Entry | undefined;
  #frame = 0;

  constructor(context: PanelContext, store: SessionStore, newId: () => string, view: ChatView) {
    this.#context = context;
    this.#store = store;
    this.#newId = newId;
    this.#view = view;
  }

  /** Shows the session as stored, with the active entry. */
  show(): void {
    cancelAnimationFrame(this.#frame);
    this.#view.show(this.#store.read().entries, this.#active);
  }

  /** Sends a message, or queues it while a turn is running. Ignores a blank one. */
  send(message: string): void {
    // The service rejects NUL and lone surrogates.
    const text = String(message).replaceAll("\0", "").toWellFormed().trim();
    if (!text) {
      return;
    }
    if (this.#turn) {
      this.#queue.push(text);
    } else {
      this.#context.emit("message", { role: "user", text });
      void this.#runTurn({ id: this.#newId(), role: "user", text });
    }
  }

  /** Sends a message again. The entry is the message itself or its reply. */
  retry({ id }: Entry): void {
    const question = this.#store.read().entries.find((entry) => entry.id === id.split(":")[0]);
    if (question && !this.#turn) {
      void this.#runTurn({ id: question.id, role: "user", text: question.text });
    }
  }

  /** Sends again the message that failed while offline. */
  retryOffline(): void {
    if (this.#offlineEntry) {
      this.retry(this.#offlineEntry);
    }
  }

  /** Stops the running turn and drops the queued messages. */
  stop(): void {
    this.#queue.length = 0;
    this.#turn?.abort();
  }

  /** Stops the running turn, forgets the session and starts a new session. */
  reset(): void {
    this.stop();
    this.#store.reset();
    this.#context.emit("new", {});
    this.show();
  }

  /** Stores the partial reply, for a page that is being unloaded. */
  saveActive(): void {
    if (this.#active?.entry.role === "assistant") {
      this.#store.put(this.#sessionId, { ...this.#active.entry, failed: "stopped" });
    }
  }

  /** Runs one turn to its end. Never rejects. */
  async #runTurn(question: Entry, resendsLeft = MAX_RESENDS): Promise<void> {
    const { session } = this.#store.read();
    const turn = new AbortController();
    const signal = AbortSignal.any([turn.signal, this.#context.signal]);
    let reply: Entry = { id: `${question.id}:a`, role: "assistant", text: "" };
    let failure: Failure | undefined;
    this.#turn = turn;
    this.#sessionId = session;
    this.#offlineEntry = undefined;
    this.#active = { entry: reply };
    this.#store.put(session, question);
    // Removes the partial reply of an earlier attempt.
    this.#store.put(session, reply);
    this.show();
    try {
      await sendMessage(this.#context, session, question.text, signal, (part) => {
        reply = { id: reply.id, role: "assistant", ...part };
        this.#active = { entry: reply };
        cancelAnimationFrame(this.#frame);
        this.#frame = requestAnimationFrame(() => this.show());
      });
    } catch (error) {
      failure = error instanceof Failure ? error : new Failure(signal.aborted ? "stopped" : "failed");
    }
    if (failure?.code === "rate_limited" && resendsLeft > 0) {
      await this.#countDown(question, failure.retryAfterS || 1, signal);
      if (!signal.aborted) {
        return this.#runTurn(question, resendsLeft - 1);
      }
      failure = new Failure("stopped");
    }
    if (failure?.code === "session_not_found" && !question.failed) {
      // The owner deleted the session. Delete it here too, and send the message in a new session.
      this.#store.reset();
      return this.#runTurn({ ...question, failed: failure.code }, resendsLeft);
    }
    this.#endTurn(session, question, reply, failure?.code);
  }

  #endTurn(session: string, question: Entry, reply: Entry, code: string | undefined): void {
    const { emit } = this.#context;
    this.#turn = undefined;
    this.#active = undefined;
    this.#offlineEntry = code === "offline" ? question : undefined;
    if (code && !reply.text) {
      this.#store.put(session, { ...question, failed: code });
    } else {
      this.#store.put(session, code ? { ...reply, failed: code } : reply);
    }
    this.show();
    this.#view.onTurnEnd(reply.id, code);
    if (!code) {
      emit("message", { role: "assistant", text: reply.text });
    } else if (code !== "stopped") {
      emit("error", { code });
    }
    const next = this.#queue.shift();
    if (next) {
      this.send(next);
    }
  }

  /** Shows a countdown beside the message. Resolves when the countdown is over or the signal is aborted. */
  async #countDown(entry: Entry, seconds: number, signal: AbortSignal): Promise<void> {
    for (let waitS = seconds; waitS > 0 && !signal.aborted; waitS--) {
      this.#active = { entry, waitS };
      this.show();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1000);
        signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
      });
    }
  }
}

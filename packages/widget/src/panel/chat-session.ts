import { anySignal } from "../shared/any-signal.ts";
import { Failure } from "../shared/failure.ts";
import { toStorable } from "../shared/storable.ts";
import type { PanelContext } from "../shared/types.ts";
import type { ActiveEntry } from "./message.ts";
import { post } from "./post.ts";
import { type FailedTurn, type Reply, sendMessage } from "./send-message.ts";
import {
  type Entry,
  explainUnanswered,
  findUnanswered,
  SESSION_NOT_FOUND,
  type SessionStore,
  UNCONFIRMED_TTL_MS,
  UNFINISHED_REPLY_TTL_MS,
} from "./session-store.ts";

export interface ChatView {
  /** Shows the stored entries and the active one. Called at most once per frame while a reply grows. */
  show(entries: readonly Entry[], active?: ActiveEntry): void;
  /** Called when a turn enters a state that the visitor should learn of. */
  onState(state: TurnState): void;
  /** Resolves when a refused message may be sent again, to the fields that it lacks. Rejects with a Failure if it may not. */
  passGate(refusal: Failure, session: string, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Called when a turn ends. Without a code, the reply is complete. */
  onTurnEnd(replyId: string, code?: string): void;
}

/**
 * `typing`: the message was sent. `ended`: it was sent in a new session, because the earlier one has ended. `thinking`: the service has sent
 * nothing for 3 s, because the model is thinking or a tool is running.
 */
export type TurnState = "typing" | "ended" | "thinking";

/** How long the service may send no event before the visitor reads that the bot is thinking. */
const THINKING_AFTER_MS = 3_000;

/** Matches the codes for a session that the visitor cannot continue. */
const SESSION_ENDED = /^(session_not_found|visitor_mismatch)$/;

/** Sends the visitor's messages one after the other and stores them with their replies. */
export class ChatSession {
  readonly #context: PanelContext;
  readonly #store: SessionStore;
  readonly #view: ChatView;
  readonly #newId: () => string;
  readonly #queue: string[] = [];
  readonly #openedAt = Date.now();
  /** Aborts the running turn, here and at the service. */
  #turn: AbortController | undefined;
  #active: ActiveEntry | undefined;
  /** The session that is shown. */
  #session = "";
  #frame = 0;

  constructor(context: PanelContext, store: SessionStore, newId: () => string, view: ChatView) {
    this.#context = context;
    this.#store = store;
    this.#newId = newId;
    this.#view = view;
  }

  /** Shows the current session. If it was replaced, here or by another tab, stops the earlier session's reply. */
  show(): void {
    cancelAnimationFrame(this.#frame);
    const { session, entries } = this.#store.read();
    if (session !== this.#session) {
      this.#session = session;
      this.#queue.length = 0;
      this.#active = undefined;
      this.stop();
    }
    this.#view.show(explainUnanswered(entries, this.#openedAt), this.#active);
  }

  send(message: string): void {
    const text = toStorable(String(message));
    if (!text) {
      return;
    }
    if (this.#turn) {
      this.#queue.push(text);
    } else {
      this.#context.emit("message", { role: "user", text });
      void this.#runTurn(this.#newMessage(text));
    }
  }

  #newMessage(text: string, failed?: string): Entry {
    return { id: this.#newId(), role: "user", text, at: Date.now(), ...(failed && { failed }) };
  }

  /** Sends a message again. The entry is the message or its reply. */
  retry({ id }: Entry): void {
    const question = this.#store.read().entries.find((entry) => entry.id === id.split(":")[0]);
    if (question && !this.#turn) {
      const { failed, ...pending } = question;
      // Keeps `failed` if it explains to the visitor why the session is new (see #runTurn).
      void this.#runTurn(failed === SESSION_NOT_FOUND ? question : pending);
    }
  }

  /** Continues the first reply that is not complete and whose message had not expired when this page was opened. */
  resume(): void {
    const question = findUnanswered(this.#store.read().entries, this.#openedAt);
    if (question) {
      this.retry(question);
    }
  }

  stop(): void {
    this.#turn?.abort();
  }

  /** Starts a new session of the same visitor. */
  startNew(): void {
    this.#store.startNew();
    this.leave();
  }

  /** Returns to the session before `startNew`. */
  undo(): void {
    this.#store.undo();
    this.#context.emit("undo", {});
    this.show();
    this.resume();
  }

  /**
   * Continues a session of the same visitor, with these entries. If it is the current session, keeps its entries while one of them is not complete,
   * because the service does not have a message that failed.
   */
  continue(session: string, entries: readonly Entry[]): void {
    const current = this.#store.read();
    if (current.session !== session || !current.entries.some(({ key, failed }) => key || failed)) {
      this.#store.continue(session, entries);
      this.leave("continue");
    }
  }

  /** Called when this page has replaced the session. */
  leave(event: "new" | "continue" = "new"): void {
    this.#context.emit(event, {});
    this.show();
  }

  /** Never rejects. */
  async #runTurn(pending: Entry): Promise<void> {
    const { session, entries, gate } = this.#store.read();
    const turn = new AbortController();
    const signal = anySignal(turn.signal, this.#context.signal);
    const key = pending.key ?? this.#newId();
    const id = `${pending.id}:a`;
    let question = { ...pending, key, expires: Date.now() + UNCONFIRMED_TTL_MS };
    // If the message is sent again, the text shown so far stays until the repeated reply is at least as long.
    const shownReply = entries.find((entry) => pending.key && entry.id === id);
    const wasStopped =
      pending.key && entries.some((entry) => [pending.id, id].includes(entry.id) && entry.failed === "stopped");
    const empty = { id, role: "assistant", at: Date.now() } as const;
    let reply: Entry = { ...empty, text: shownReply?.text ?? "" };
    let received: Reply = reply;
    let failure: Failure | undefined;
    let ended: FailedTurn | undefined;
    const { onState } = this.#view;
    let thinkingTimer: ReturnType<typeof setTimeout> | undefined;
    let hasThought = false;
    const waitForEvent = () => {
      clearTimeout(thinkingTimer);
      thinkingTimer = setTimeout(() => {
        this.#active = { entry: reply, isThinking: true };
        this.show();
        if (!hasThought) {
          hasThought = true;
          onState("thinking");
          this.#context.emit("thinking", {});
        }
      }, THINKING_AFTER_MS);
    };
    const passGate = async (refusal: Failure) => {
      clearTimeout(thinkingTimer);
      // Shows the message without the sign that the bot is writing.
      this.#active = { entry: question };
      this.show();
      const fields = await this.#view.passGate(refusal, session, signal);
      this.#store.putGate(session, fields);
      this.#active = { entry: reply };
      this.show();
      onState("typing");
      waitForEvent();
      return fields;
    };
    waitForEvent();
    this.#turn = turn;
    this.#session = session;
    turn.signal.onabort = () => void post(this.#context, "stop", session, { idempotency_key: key });
    this.#active = { entry: reply };
    this.#store.put(session, question);
    this.#store.put(session, reply);
    this.show();
    onState(question.failed ? "ended" : "typing");
    try {
      ended = await sendMessage(this.#context, { session, message: question.text, key, gate }, signal, {
        passGate,
        onReply: (update) => {
          // The service has received the message.
          if (received === reply) {
            question = { ...question, expires: Date.now() + UNFINISHED_REPLY_TTL_MS };
            this.#store.put(session, question);
          }
          received = update;
          waitForEvent();
          if (received.text.length >= reply.text.length) {
            reply = { ...reply, ...received };
            this.#active = { entry: reply };
            cancelAnimationFrame(this.#frame);
            this.#frame = requestAnimationFrame(() => this.show());
          }
        },
      });
      reply = { ...empty, ...received };
    } catch (error) {
      failure = error instanceof Failure ? error : new Failure(signal.aborted ? "stopped" : "failed");
    }
    clearTimeout(thinkingTimer);
    if (wasStopped && ended?.code === "stopped") {
      // The visitor stopped the reply and now wants it after all. If the service had completed it before the stop, it would have sent that reply.
      return this.#runTurn({ ...question, key: undefined });
    }
    const isCurrent = this.#store.read().session === session;
    if (failure && SESSION_ENDED.test(failure.code) && !question.failed && isCurrent) {
      // The owner deleted the session, or it has another visitor, so the message starts a new session. `failed` shows the visitor why, and
      // prevents a second new session. Another visitor has not agreed to the consent.
      this.#store.startNew(false);
      return this.#runTurn({ ...question, key: undefined, failed: SESSION_NOT_FOUND });
    }
    // If the widget was removed from the page, the turn stays open: the next widget continues the reply.
    if (!this.#context.signal.aborted) {
      this.#endTurn(session, keepKey(question, failure, ended?.code), reply, failure ?? ended);
    }
  }

  #endTurn(session: string, question: Entry, reply: Entry, failure: FailedTurn | undefined): void {
    const { emit } = this.#context;
    const code = failure?.code;
    const failed = code ? { failed: code, requestId: failure.requestId } : {};
    const isCurrent = this.#store.read().session === session;
    this.#turn = undefined;
    this.#active = undefined;
    this.#store.put(session, reply.text ? question : { ...question, ...failed });
    this.#store.put(session, { ...reply, ...failed });
    if (isCurrent && code === "stopped") {
      // The visitor stopped the reply, or declined what each message needs.
      for (const text of this.#queue.splice(0)) {
        this.#store.put(session, this.#newMessage(text, code));
      }
    }
    this.show();
    if (isCurrent) {
      this.#view.onTurnEnd(reply.id, code);
      if (!code) {
        // A message that a person answers has no reply.
        reply.text && emit("message", { role: "assistant", text: reply.text });
      } else if (code !== "stopped") {
        emit("error", { code });
      }
    }
    const next = this.#queue.shift();
    if (next) {
      this.send(next);
    } else if (!code) {
      // The connection works: continue the next incomplete reply.
      this.resume();
    }
  }
}

/**
 * Returns the message for a retry, with its key or without it. With the key, the retry receives the same reply again, without a second charge.
 * A reply that ended without success needs a new key. A stopped reply may have been complete at the service. So it keeps the key, but no page
 * continues it without the visitor.
 */
function keepKey(question: Entry, failure: Failure | undefined, code: string | undefined): Entry {
  if (failure && failure.code !== "stopped") {
    return question;
  }
  return failure || code === "empty" ? { ...question, expires: 0 } : { ...question, key: undefined };
}

import { Failure } from "../shared/failure.ts";
import type { PanelContext } from "../shared/types.ts";
import { ask } from "./ask.ts";
import type { Live } from "./log.ts";
import type { Entry, Store } from "./store.ts";

/** What the conversation tells the screen. */
export interface ConversationView {
  /** What is stored, and what is on its way; called once a frame at most while an answer grows. */
  show(entries: readonly Entry[], live?: Live): void;
  /** A message's answer is complete, or there will be none for the reason that the code names. */
  ended(answerId: string, code?: string): void;
}

/** How often a message that met the rate limit is sent again by itself. */
const RESENDS = 3;

/** The conversation: asks one thing after the other, and keeps what was said. */
export class Conversation {
  readonly #context: PanelContext;
  readonly #store: Store;
  readonly #view: ConversationView;
  readonly #newId: () => string;
  readonly #queue: string[] = [];
  #turn: AbortController | undefined;
  #live: Live | undefined;
  #session = "";
  /** What this tab could not send for want of a network; other tabs have their own. */
  #offline: Entry | undefined;
  #frame = 0;

  constructor(context: PanelContext, store: Store, newId: () => string, view: ConversationView) {
    this.#context = context;
    this.#store = store;
    this.#newId = newId;
    this.#view = view;
  }

  /** Shows the conversation as it is. */
  show(): void {
    cancelAnimationFrame(this.#frame);
    this.#view.show(this.#store.read().entries, this.#live);
  }

  /** Asks something, unless it is blank; after what is under way, if anything is. */
  ask(message: string): void {
    // What the service would refuse: NUL, and halves of characters.
    const text = String(message).replaceAll("\0", "").toWellFormed().trim();
    if (!text) {
      return;
    }
    if (this.#turn) {
      this.#queue.push(text);
    } else {
      this.#context.emit("message", { role: "user", text });
      void this.#run({ id: this.#newId(), role: "user", text });
    }
  }

  /** Asks again what had no answer, or not the whole of it. */
  retry({ id }: Entry): void {
    const asked = this.#store.read().entries.find((entry) => entry.id === id.split(":")[0]);
    if (asked && !this.#turn) {
      void this.#run({ id: asked.id, role: "user", text: asked.text });
    }
  }

  /** Asks again what was asked while there was no network. */
  online(): void {
    if (this.#offline) {
      this.retry(this.#offline);
    }
  }

  stop(): void {
    this.#queue.length = 0;
    this.#turn?.abort();
  }

  /** Forgets the conversation and begins a new one. */
  reset(): void {
    this.stop();
    this.#store.reset();
    this.#context.emit("new", {});
    this.show();
  }

  /** Keeps what has come so far of an answer, for a page that is about to go. */
  keep(): void {
    if (this.#live?.entry.role === "assistant") {
      this.#store.put(this.#session, { ...this.#live.entry, failed: "stopped" });
    }
  }

  /** Runs one turn to its end, whatever that is. */
  async #run(asked: Entry, resends = RESENDS): Promise<void> {
    const { session } = this.#store.read();
    const turn = new AbortController();
    const signal = AbortSignal.any([turn.signal, this.#context.signal]);
    let answer: Entry = { id: `${asked.id}:a`, role: "assistant", text: "" };
    let failure: Failure | undefined;
    this.#turn = turn;
    this.#session = session;
    this.#offline = undefined;
    this.#live = { entry: answer };
    this.#store.put(session, asked);
    // An earlier attempt may have left a part.
    this.#store.put(session, answer);
    this.show();
    try {
      await ask(this.#context, session, asked.text, signal, (part) => {
        answer = { id: answer.id, role: "assistant", ...part };
        this.#live = { entry: answer };
        cancelAnimationFrame(this.#frame);
        this.#frame = requestAnimationFrame(() => this.show());
      });
    } catch (error) {
      failure = error instanceof Failure ? error : new Failure(signal.aborted ? "stopped" : "failed");
    }
    if (failure?.code === "rate_limited" && resends > 0) {
      await this.#wait(asked, failure.retryAfterS || 1, signal);
      if (!signal.aborted) {
        return this.#run(asked, resends - 1);
      }
      failure = new Failure("stopped");
    }
    if (failure?.code === "session_not_found" && !asked.failed) {
      // The owner has removed the conversation: what is left of it here goes too.
      this.#store.reset();
      return this.#run({ ...asked, failed: failure.code }, resends);
    }
    this.#end(session, asked, answer, failure?.code);
  }

  #end(session: string, asked: Entry, answer: Entry, code: string | undefined): void {
    const { emit } = this.#context;
    this.#turn = undefined;
    this.#live = undefined;
    this.#offline = code === "offline" ? asked : undefined;
    if (code && !answer.text) {
      this.#store.put(session, { ...asked, failed: code });
    } else {
      this.#store.put(session, code ? { ...answer, failed: code } : answer);
    }
    this.show();
    this.#view.ended(answer.id, code);
    if (!code) {
      emit("message", { role: "assistant", text: answer.text });
    } else if (code !== "stopped") {
      emit("error", { code });
    }
    const next = this.#queue.shift();
    if (next) {
      this.ask(next);
    }
  }

  /** Counts the seconds down beside the message, to its end or until the visitor stops it. */
  async #wait(entry: Entry, seconds: number, signal: AbortSignal): Promise<void> {
    for (let waitS = seconds; waitS > 0 && !signal.aborted; waitS--) {
      this.#live = { entry, waitS };
      this.show();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1000);
        signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
      });
    }
  }
}

/** One message of the conversation as it is kept in the browser. */
export interface Entry {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** The service's id of an answer; what a rating names. */
  readonly messageId?: number;
  readonly rating?: "up" | "down" | "";
  /** Why a visitor's message has no answer; on an answer, that it was stopped. */
  readonly failed?: string;
}

interface Conversation {
  readonly session: string;
  readonly entries: readonly Entry[];
}

/** What is shown and kept; older messages fall off the top. */
export const MAX_ENTRIES = 200;

/**
 * The conversation with one bot, in local storage. Each change reads what is stored first, so that two tabs add to one
 * conversation instead of overwriting each other's. Where storage is refused or full, memory serves.
 */
export class Store {
  readonly key: string;
  /** Undefined once it was refused. */
  #storage: Pick<Storage, "getItem" | "setItem"> | undefined;
  readonly #newId: () => string;
  #memory: Conversation;

  constructor(publicKey: string, storage: () => Pick<Storage, "getItem" | "setItem">, newId: () => string) {
    this.key = `parley:${publicKey}`;
    this.#newId = newId;
    this.#memory = this.#fresh();
    try {
      this.#storage = storage();
    } catch {
      this.#storage = undefined;
    }
  }

  /** The conversation as it is now, whoever changed it last. */
  read(): Conversation {
    try {
      if (this.#storage) {
        const stored = parse(this.#storage.getItem(this.key));
        // Cleared, by the visitor or by another tab, is a new conversation.
        this.#memory = stored ?? (this.#memory.entries.length > 0 ? this.#fresh() : this.#memory);
      }
    } catch {
      this.#storage = undefined;
    }
    return this.#memory;
  }

  #fresh(): Conversation {
    return { session: this.#newId(), entries: [] };
  }

  /**
   * Adds an entry, or replaces the one of its id; one without text is removed. Nothing happens when the conversation is
   * no longer that session's.
   */
  put(session: string, entry: Entry): void {
    const now = this.read();
    if (now.session === session) {
      const entries = now.entries.map((old) => (old.id === entry.id ? entry : old));
      const all = entries.includes(entry) ? entries : [...entries, entry];
      this.#write({ session, entries: all.filter(({ text }) => text).slice(-MAX_ENTRIES) });
    }
  }

  /** Begins a new conversation and forgets the old one. */
  reset(): void {
    this.#write(this.#fresh());
  }

  #write(conversation: Conversation): void {
    this.#memory = conversation;
    try {
      this.#storage?.setItem(this.key, JSON.stringify(conversation));
    } catch {
      this.#storage = undefined;
    }
  }
}

/** Reads what was stored; undefined when there is nothing, or nothing of ours. */
function parse(stored: string | null): Conversation | undefined {
  try {
    const { session, entries } = JSON.parse(stored ?? "") as Conversation;
    return { session: session.slice(), entries: entries.filter(({ id, text }) => id && typeof text === "string") };
  } catch {
    return undefined;
  }
}

/** A random UUID; `crypto.randomUUID` is missing on pages served over plain HTTP. */
export function uuid(): string {
  const digit = () => ((crypto.getRandomValues(new Uint8Array(1))[0] as number) & 15).toString(16);
  // The 4 is the version and the 8 the variant, of which the standard leaves two bits free that are not needed.
  return "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replace(/x/g, digit);
}

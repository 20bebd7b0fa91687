/** A document that a reply cites. Its text has the number in square brackets. */
export interface Source {
  readonly number: number;
  readonly title: string;
  /** Unset if the document is no public page. */
  readonly url?: string;
}

/** One message or reply of the session, as stored in the browser. */
export interface Entry {
  /** Unique in the session. The ID of a reply is the ID of its message followed by ":a". */
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** When it was sent or arrived, in milliseconds since 1970. */
  readonly at?: number;
  /** On a reply that can be rated, and on a message to or of a person: its ID in the service. */
  readonly messageId?: number;
  /** The documents that the reply cites. Unset if it shows none. */
  readonly sources?: readonly Source[];
  readonly rating?: "up" | "down" | "";
  /** On a message of a person: the person's name. */
  readonly agent?: string;
  /** A person has the session after this entry, or the visitor waits for one. Removed when the visitor has seen how it ended. */
  readonly handoff?: boolean;
  /** With the rating `down`, the visitor's reason. */
  readonly reason?: string;
  /**
   * An error code. On a message: why it has no reply, or SESSION_NOT_FOUND if it was sent again in a new session. On a
   * reply: why it is incomplete.
   */
  readonly failed?: string;
  /** With `failed`, the id of the failed request, if the service responded. */
  readonly requestId?: string | undefined;
  /** The idempotency key of a message whose reply has not ended. With the same key, the service sends the same reply. */
  readonly key?: string | undefined;
  /** On a message with a key, in milliseconds since 1970. A page that is opened later does not send the message again automatically. */
  readonly expires?: number;
}

/** For this long after a message was sent, a newly opened page sends it again if the service may not have received it. */
export const UNCONFIRMED_TTL_MS = 300_000;
/** For this long after the first event of a reply, a newly opened page fetches the rest. */
export const UNFINISHED_REPLY_TTL_MS = 86_400_000;

/** Matches the codes of connection failures. After one of them, the message keeps its key, and its reply is fetched later: see findUnanswered. */
export const CONNECTION_FAILURE = /^(network|offline|interrupted)$/;

/** The service's code for a session that does not exist, for example because the bot's owner has deleted it. */
export const SESSION_NOT_FOUND = "session_not_found";

/**
 * Returns the first message that has a key and had not expired at `openedAt`, in milliseconds since 1970. Skips a message
 * that failed, unless the connection failed or the message was sent again in a new session.
 */
export function findUnanswered(entries: readonly Entry[], openedAt: number): Entry | undefined {
  return entries.find(
    ({ key, failed, expires = 0 }) =>
      key && expires > openedAt && (!failed || failed === SESSION_NOT_FOUND || CONNECTION_FAILURE.test(failed)),
  );
}

/**
 * Adds a failure to what ended without one and will not be continued, because its page was closed and the message had expired at `openedAt`: to the
 * reply or, without one, to the message.
 */
export function explainUnanswered(entries: readonly Entry[], openedAt: number): readonly Entry[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  return entries.map((entry) => {
    const { key, expires = 0 } = byId.get(entry.id.replace(":a", "")) ?? entry;
    const isExpired = key && expires <= openedAt && !byId.has(`${entry.id}:a`);
    return isExpired && !entry.failed ? { ...entry, failed: "interrupted" } : entry;
  });
}

type PreviousSession = Pick<StoredSession, "session" | "entries">;

interface StoredSession {
  /** The session ID. */
  readonly session: string;
  readonly entries: readonly Entry[];
  /** The id of the visitor to whom the session belongs. Absent if no message had one. */
  readonly visitor?: string | undefined;
  /** Fields of the body of each message: what the visitor has passed, such as `consent_version`. See GateLoader. */
  readonly gate?: Readonly<Record<string, string>> | undefined;
  /** The session before this one, until this one has an entry. */
  readonly previous?: PreviousSession | undefined;
  /** When a page last forgot a session, in milliseconds since 1970; 0 if no page did. */
  readonly resetAt: number;
}

/** The number of entries that are stored and shown. The oldest ones are dropped. */
export const MAX_ENTRIES = 200;

/**
 * Stores the session with one bot in local storage. Each change starts from the stored state, so that two tabs add to
 * the same session without overwriting each other. If storage is refused or full, the session is kept in memory only.
 */
export class SessionStore {
  /** The key of the session in the storage. */
  readonly itemKey: string;
  /** Undefined after a refused access or a failed write. */
  #storage: Pick<Storage, "getItem" | "setItem"> | undefined;
  readonly #newId: () => string;
  #memory: StoredSession;

  constructor(publicKey: string, storage: () => Pick<Storage, "getItem" | "setItem">, newId: () => string) {
    this.itemKey = `parley:${publicKey}`;
    this.#newId = newId;
    this.#memory = this.#newSession(undefined, 0);
    try {
      this.#storage = storage();
    } catch {
      this.#storage = undefined;
    }
  }

  /** Reads the current session, including changes by other tabs. */
  read(): StoredSession {
    try {
      if (this.#storage) {
        const item = this.#storage.getItem(this.itemKey);
        const { visitor, entries, resetAt } = this.#memory;
        // After a reset, the item is only the reset's time. The new session is stored with its first message.
        const storedResetAt = Number(item);
        if (!storedResetAt) {
          // If the visitor or another tab cleared the storage, a new session starts.
          this.#memory = parse(item) ?? (entries.length > 0 ? this.#newSession(visitor, resetAt) : this.#memory);
        } else if (storedResetAt !== resetAt) {
          this.#memory = this.#newSession(undefined, storedResetAt);
        }
      }
    } catch {
      this.#storage = undefined;
    }
    return this.#memory;
  }

  #newSession(visitor: string | undefined, resetAt: number): StoredSession {
    return { session: this.#newId(), entries: [], visitor, resetAt };
  }

  /**
   * Gives the session to a visitor, with its earlier messages. Returns false, and changes nothing, if the session belongs to another visitor.
   */
  claim(visitor: string): boolean {
    const current = this.read();
    if (current.visitor === undefined) {
      const claimed = { ...current, visitor };
      if (current.entries.length > 0) {
        this.#write(claimed);
      } else {
        // An empty session is not stored.
        this.#memory = claimed;
      }
    }
    return visitor === (current.visitor ?? visitor);
  }

  /**
   * Adds `entry`, or replaces the stored entry with its ID. If the text of `entry` is empty, removes the stored entry.
   * Does nothing if `session` is no longer the current session.
   */
  put(session: string, entry: Entry): void {
    const current = this.read();
    if (current.session === session) {
      const entries = current.entries.map((old) => (old.id === entry.id ? entry : old));
      const all = entries.includes(entry) ? entries : [...entries, entry];
      this.#write({ ...current, entries: all.filter(({ text }) => text).slice(-MAX_ENTRIES), previous: undefined });
    }
  }

  /** Adds fields to the body of each message. Does nothing if `session` is no longer the current session. */
  putGate(session: string, fields: Readonly<Record<string, string>>): void {
    const current = this.read();
    if (current.session === session) {
      this.#write({ ...current, gate: { ...current.gate, ...fields } });
    }
  }

  /** Starts a new session of the same visitor, by default with the same gate. Until it has an entry, `undo` returns to the current one. */
  startNew(keepsGate = true): void {
    const { session, entries, visitor, resetAt, gate, previous } = this.read();
    this.#write({
      ...this.#newSession(visitor, resetAt),
      gate: keepsGate ? gate : undefined,
      previous: entries.length > 0 ? { session, entries } : previous,
    });
  }

  /** Makes another session of the same visitor the current one. */
  continue(session: string, entries: readonly Entry[]): void {
    this.#write({ ...this.read(), session, entries: entries.slice(-MAX_ENTRIES), previous: undefined });
  }

  /** Returns to the session before `startNew`. Does nothing if the new session has an entry. */
  undo(): void {
    const { previous, ...current } = this.read();
    if (previous) {
      this.#write({ ...current, ...previous });
    }
  }

  /** Forgets the session and the visitor, in every tab. */
  forget(): void {
    const resetAt = Date.now();
    this.#memory = this.#newSession(undefined, resetAt);
    this.#store(String(resetAt));
  }

  #write(session: StoredSession): void {
    this.#memory = session;
    this.#store(JSON.stringify(session));
  }

  #store(item: string): void {
    try {
      this.#storage?.setItem(this.itemKey, item);
    } catch {
      this.#storage = undefined;
    }
  }
}

/** Parses a stored session and drops its invalid entries. Returns undefined if the session is missing or invalid. */
function parse(stored: string | null): StoredSession | undefined {
  try {
    // `trim` and `filter` throw if a field is missing or has another type: only strings have `trim`, and only arrays have `filter`.
    const { previous, visitor, resetAt, gate, ...current } = JSON.parse(stored ?? "") as StoredSession;
    const check = ({ session, entries }: PreviousSession) => ({
      session: session.trim(),
      entries: entries.filter(({ id, text }) => id && typeof text === "string"),
    });
    return {
      ...check(current),
      visitor,
      resetAt: resetAt || 0,
      gate,
      previous: previous && check(previous),
    };
  } catch {
    return undefined;
  }
}

import { beforeEach, describe, expect, it } from "vitest";
import { type Entry, MAX_ENTRIES, SessionStore } from "./session-store.ts";

class FakeStorage {
  readonly items = new Map<string, string>();
  maxItems = Number.POSITIVE_INFINITY;
  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    if (this.items.size >= this.maxItems) {
      throw new DOMException("full", "QuotaExceededError");
    }
    this.items.set(key, value);
  }
}

let storage: FakeStorage;
let idCount: number;
const open = (publicKey = "svc_pk_1") =>
  new SessionStore(
    publicKey,
    () => storage,
    () => `id-${++idCount}`,
  );
const entry = (id: string, text = id): Entry => ({ id, role: "user", text });
const texts = (store: SessionStore) => store.read().entries.map(({ text }) => text);

beforeEach(() => {
  storage = new FakeStorage();
  idCount = 0;
});

describe("SessionStore", () => {
  it("returns the same session and entries when it is opened again", () => {
    const first = open();
    first.put(first.read().session, entry("a"));
    expect(open().read()).toEqual(first.read());
  });

  it("stores separate sessions for two public keys", () => {
    const one = open("svc_pk_1");
    one.put(one.read().session, entry("a"));
    const other = open("svc_pk_2");
    expect(other.read().entries).toEqual([]);
    expect(other.read().session).not.toBe(one.read().session);
  });

  it("merges the entries that two tabs add", () => {
    const first = open();
    first.put(first.read().session, entry("a"));
    const second = open();
    second.put(second.read().session, entry("b"));
    first.put(first.read().session, entry("c"));
    expect(texts(second)).toEqual(["a", "b", "c"]);
  });

  it("replaces an entry in place and removes it when its text is empty", () => {
    const store = open();
    const { session } = store.read();
    for (const id of ["a", "b", "c"]) {
      store.put(session, entry(id));
    }
    store.put(session, entry("b", "changed"));
    expect(texts(store)).toEqual(["a", "changed", "c"]);
    store.put(session, entry("b", ""));
    expect(texts(store)).toEqual(["a", "c"]);
  });

  it("ignores an entry of an earlier session", () => {
    const store = open();
    const { session } = store.read();
    store.put(session, entry("a"));
    store.startNew();
    store.put(session, entry("late"));
    expect(store.read().entries).toEqual([]);
    expect(store.read().session).not.toBe(session);
  });

  it("drops the oldest entries when there are more than the maximum", () => {
    const store = open();
    const { session } = store.read();
    for (let at = 0; at < MAX_ENTRIES + 5; at++) {
      store.put(session, entry(String(at)));
    }
    expect(store.read().entries).toHaveLength(MAX_ENTRIES);
    expect(texts(store)[0]).toBe("5");
  });

  it("starts a new session when the storage was cleared", () => {
    const store = open();
    const { session } = store.read();
    store.put(session, entry("a"));
    storage.items.clear();
    expect(store.read().entries).toEqual([]);
    expect(store.read().session).not.toBe(session);
    expect(store.read().session).toBe(store.read().session);
  });

  it.each([
    "",
    "{",
    "null",
    "[]",
    '{"session":1,"entries":[]}',
    '{"session":[],"entries":[]}',
    '{"session":"s"}',
    '{"session":"s","entries":[null]}',
  ])("starts a new session when %s is stored", (stored) => {
    storage.items.set("parley:svc_pk_1", stored);
    const store = open();
    const { session } = store.read();
    expect(session).toMatch(/^id-/);
    store.put(session, entry("a"));
    expect(texts(open())).toEqual(["a"]);
  });

  it("skips stored entries that are invalid", () => {
    storage.items.set("parley:svc_pk_1", JSON.stringify({ session: "s", entries: [{ id: "a" }, entry("b")] }));
    expect(texts(open())).toEqual(["b"]);
  });

  it("works in memory when access to the storage is refused", () => {
    const store = new SessionStore(
      "svc_pk_1",
      () => {
        throw new DOMException("refused", "SecurityError");
      },
      () => "session",
    );
    const { session } = store.read();
    store.put(session, entry("a"));
    expect(store.read()).toMatchObject({ session, entries: [entry("a")] });
  });

  it("works in memory when the storage is full", () => {
    const store = open();
    const { session } = store.read();
    store.put(session, entry("a"));
    storage.maxItems = 0;
    store.put(session, entry("b"));
    store.put(session, entry("c"));
    expect(texts(store)).toEqual(["a", "b", "c"]);
  });

  it("returns to the session before a new one until the new one has an entry", () => {
    const store = open();
    const { session } = store.read();
    store.put(session, entry("a"));
    store.startNew();
    expect(texts(store)).toEqual([]);
    // A second click does not replace the session to return to.
    store.startNew();
    // Another tab and a later page can return, too.
    open().undo();
    expect(store.read()).toMatchObject({ session, entries: [entry("a")] });
    store.startNew();
    store.put(store.read().session, entry("b"));
    store.undo();
    expect(texts(store)).toEqual(["b"]);
    expect(store.read().previous).toBeUndefined();
  });

  it("does not return to an earlier session after the session was forgotten", () => {
    const store = open();
    store.put(store.read().session, entry("a"));
    store.startNew();
    store.forget();
    store.undo();
    expect(texts(store)).toEqual([]);
    expect([...storage.items.values()].join()).not.toContain('"a"');
  });

  it("keeps the fields of the gate, also in a new session, until the session is forgotten", () => {
    const store = open();
    const { session } = store.read();
    store.put(session, entry("a"));
    store.putGate(session, { consent_version: "v1", challenge_pass: "p1" });
    store.putGate(session, { challenge_pass: "p2" });
    store.putGate("earlier", { challenge_pass: "late" });
    expect(open().read().gate).toEqual({ consent_version: "v1", challenge_pass: "p2" });
    store.startNew();
    expect(open().read().gate).toEqual({ consent_version: "v1", challenge_pass: "p2" });
    store.undo();
    expect(open().read()).toMatchObject({ session, gate: { consent_version: "v1" } });
    store.startNew(false);
    expect(open().read().gate).toBeUndefined();
    store.putGate(store.read().session, { consent_version: "v1" });
    store.forget();
    expect(store.read().gate).toBeUndefined();
    expect([...storage.items.values()].join()).not.toContain("v1");
  });

  it("continues another session of the same visitor, with its newest entries", () => {
    const store = open();
    store.claim("A");
    store.put(store.read().session, entry("a"));
    store.putGate(store.read().session, { consent_version: "v1" });
    store.startNew();
    store.continue(
      "past",
      Array.from({ length: MAX_ENTRIES + 1 }, (_, at) => entry(String(at))),
    );
    expect(open().read()).toMatchObject({ session: "past", visitor: "A", gate: { consent_version: "v1" } });
    expect(open().read().previous).toBeUndefined();
    expect(texts(store)).toHaveLength(MAX_ENTRIES);
    expect(texts(store).at(-1)).toBe(String(MAX_ENTRIES));
  });
});

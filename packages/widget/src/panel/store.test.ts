import { beforeEach, describe, expect, it } from "vitest";
import { type Entry, MAX_ENTRIES, Store, uuid } from "./store.ts";

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
let ids: number;
const open = (publicKey = "svc_pk_1") =>
  new Store(
    publicKey,
    () => storage,
    () => `id-${++ids}`,
  );
const entry = (id: string, text = id): Entry => ({ id, role: "user", text });
const texts = (store: Store) => store.read().entries.map(({ text }) => text);

beforeEach(() => {
  storage = new FakeStorage();
  ids = 0;
});

describe("the store", () => {
  it("gives the same session and entries to whoever opens it next", () => {
    const first = open();
    first.put(first.read().session, entry("a"));
    expect(open().read()).toEqual(first.read());
  });

  it("keeps the conversations with two bots apart", () => {
    const one = open("svc_pk_1");
    one.put(one.read().session, entry("a"));
    const other = open("svc_pk_2");
    expect(other.read().entries).toEqual([]);
    expect(other.read().session).not.toBe(one.read().session);
  });

  it("lets two tabs add to one conversation", () => {
    const first = open();
    first.put(first.read().session, entry("a"));
    const second = open();
    second.put(second.read().session, entry("b"));
    first.put(first.read().session, entry("c"));
    expect(texts(second)).toEqual(["a", "b", "c"]);
  });

  it("replaces an entry in its place, and removes it when it has no text", () => {
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

  it("keeps what comes for an ended session out of the next one", () => {
    const store = open();
    const { session } = store.read();
    store.put(session, entry("a"));
    store.reset();
    store.put(session, entry("late"));
    expect(store.read().entries).toEqual([]);
    expect(store.read().session).not.toBe(session);
  });

  it("keeps the newest entries", () => {
    const store = open();
    const { session } = store.read();
    for (let at = 0; at < MAX_ENTRIES + 5; at++) {
      store.put(session, entry(String(at)));
    }
    expect(store.read().entries).toHaveLength(MAX_ENTRIES);
    expect(texts(store)[0]).toBe("5");
  });

  it("begins anew when storage was cleared", () => {
    const store = open();
    const { session } = store.read();
    store.put(session, entry("a"));
    storage.items.clear();
    expect(store.read().entries).toEqual([]);
    expect(store.read().session).not.toBe(session);
    expect(store.read().session).toBe(store.read().session);
  });

  it.each(["", "{", "null", "[]", '{"session":1,"entries":[]}', '{"session":"s"}', '{"session":"s","entries":[null]}'])(
    "begins anew when %s is stored",
    (stored) => {
      storage.items.set("parley:svc_pk_1", stored);
      const store = open();
      store.put(store.read().session, entry("a"));
      expect(texts(open())).toEqual(["a"]);
    },
  );

  it("passes over stored entries that are none", () => {
    storage.items.set("parley:svc_pk_1", JSON.stringify({ session: "s", entries: [{ id: "a" }, entry("b")] }));
    expect(texts(open())).toEqual(["b"]);
  });

  it("works from memory where storage is refused", () => {
    const store = new Store(
      "svc_pk_1",
      () => {
        throw new DOMException("refused", "SecurityError");
      },
      uuid,
    );
    const { session } = store.read();
    store.put(session, entry("a"));
    expect(store.read()).toEqual({ session, entries: [entry("a")] });
  });

  it("works from memory once storage is full", () => {
    const store = open();
    const { session } = store.read();
    store.put(session, entry("a"));
    storage.maxItems = 0;
    store.put(session, entry("b"));
    store.put(session, entry("c"));
    expect(texts(store)).toEqual(["a", "b", "c"]);
  });
});

describe("uuid", () => {
  it("makes random UUIDs of version 4", () => {
    const made = Array.from({ length: 200 }, uuid);
    expect(new Set(made).size).toBe(200);
    for (const id of made) {
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    }
  });
});

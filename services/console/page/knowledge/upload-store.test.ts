import { expect, test } from "vitest";
import { UploadStore, type UploadStoreDeps } from "./upload-store.ts";

const TARGET = "workspace/bot";

function createStorage(): UploadStoreDeps["storage"] & { items: Map<string, string> } {
  const items = new Map<string, string>();
  return { items, getItem: (key) => items.get(key) ?? null, setItem: (key, value) => void items.set(key, value) };
}

/** Creates a store whose uploads end when the test ends them. */
function createStore(storage = createStorage()) {
  const sent: { name: string; end: (problem?: string) => void }[] = [];
  const send: UploadStoreDeps["send"] = (_, { name }) =>
    new Promise((resolve) => {
      sent.push({ name, end: resolve });
    });
  const store = new UploadStore({ send, onEnd: () => undefined, storage });
  const states = () => store.list(TARGET).map(({ name, state }) => `${name} ${state}`);
  return { store, sent, states, storage };
}

const file = (name: string, bytes = 10) => new File(["x".repeat(bytes)], name);
const settle = () => new Promise((resolve) => setTimeout(resolve));

test("sends three small files at once, and one large file beside them", async () => {
  const { store, sent } = createStore();
  const added = store.add(TARGET, [
    file("large-1", 300_000),
    file("large-2", 300_000),
    ...["a", "b", "c", "d"].map((name) => file(name)),
  ]);
  await settle();
  expect(sent.map(({ name }) => name)).toEqual(["large-1", "a", "b", "c"]);
  sent[1]?.end();
  await settle();
  expect(sent.map(({ name }) => name)).toEqual(["large-1", "a", "b", "c", "d"]);
  sent[0]?.end();
  await settle();
  expect(sent.map(({ name }) => name)).toEqual(["large-1", "a", "b", "c", "d", "large-2"]);
  for (const { end } of sent) end();
  expect(await added).toEqual([]);
});

test("returns the problems of failed files, and sends only these again", async () => {
  const { store, sent, states } = createStore();
  const added = store.add(TARGET, [file("a"), file("b")]);
  await settle();
  expect(store.hasPending()).toBe(true);
  sent[0]?.end("The file is empty.");
  sent[1]?.end();
  expect(await added).toEqual(["a: The file is empty."]);
  expect(store.hasPending()).toBe(false);
  expect(store.canRetry(TARGET)).toBe(true);
  const retried = store.retryFailed(TARGET);
  await settle();
  expect(states()).toEqual(["a sending", "b added"]);
  sent[2]?.end();
  expect(await retried).toEqual([]);
  expect(states()).toEqual(["a added", "b added"]);
  expect(store.canRetry(TARGET)).toBe(false);
  store.clear(TARGET);
  expect(states()).toEqual([]);
});

test("after a reload, tells the files that were added, failed, were interrupted and were not sent apart", async () => {
  const { store, sent, storage } = createStore();
  void store.add(
    TARGET,
    ["a", "b", "c", "d", "e", "f"].map((name) => file(name)),
  );
  await settle();
  sent[0]?.end();
  sent[1]?.end("It is too large.");
  await settle();
  store.persist();
  const reloaded = createStore(storage);
  expect(reloaded.states()).toEqual([
    "a added",
    "b failed",
    "c interrupted",
    "d interrupted",
    "e interrupted",
    "f lost",
  ]);
  expect(reloaded.store.list(TARGET)[1]?.problem).toBe("It is too large.");
  // The browser has forgotten the files.
  expect(reloaded.store.canRetry(TARGET)).toBe(false);
  expect(reloaded.store.hasPending()).toBe(false);
  reloaded.store.clear(TARGET);
  reloaded.store.persist();
  expect(createStore(storage).states()).toEqual([]);
});

test("forgets the list over a reload if all files were added", async () => {
  const { store, sent, storage } = createStore();
  const added = store.add(TARGET, [file("a"), file("b")]);
  await settle();
  for (const each of sent) each.end();
  await added;
  store.persist();
  expect(createStore(storage).states()).toEqual([]);
});

test("starts with an empty list if the stored one cannot be read", () => {
  const storage = createStorage();
  storage.items.set("parley-uploads", "{");
  expect(createStore(storage).states()).toEqual([]);
});

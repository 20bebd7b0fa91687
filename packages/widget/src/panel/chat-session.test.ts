import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Failure } from "../shared/failure.ts";
import type { PanelContext } from "../shared/types.ts";
import { ChatSession } from "./chat-session.ts";
import type { ActiveEntry } from "./message.ts";
import { type Entry, SessionStore } from "./session-store.ts";

/** The codes with which the service refuses the next messages. It replies to those after them. */
let refusals: string[];
let bodies: Record<string, string>[];
/** Whether the replies begin and do not end. */
let areRepliesOpen: boolean;

const REPLY =
  'event: meta\ndata: {"message_id":1}\n\nevent: token\ndata: {"text":"Yes"}\n\nevent: done\ndata: {"finish_reason":"stop"}\n\n';

/** Returns the beginning of a reply. It fails when the request is aborted, as a browser's does. */
function openReply(signal: AbortSignal): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(REPLY.slice(0, REPLY.indexOf("event: done"))));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return new Response(body);
}

beforeEach(() => {
  refusals = [];
  bodies = [];
  areRepliesOpen = false;
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run));
  vi.stubGlobal("cancelAnimationFrame", clearTimeout);
  vi.stubGlobal("fetch", async (url: string, { body, signal }: { body: string; signal: AbortSignal }) => {
    signal.throwIfAborted();
    if (url.endsWith("/stop/")) return new Response();
    bodies.push(JSON.parse(body) as Record<string, string>);
    const error = refusals.shift();
    if (error) return Response.json({ error }, { status: 404 });
    return areRepliesOpen ? openReply(signal) : new Response(REPLY);
  });
});
afterEach(() => vi.unstubAllGlobals());

/** The storage that the tabs of a test share. */
function createStorage() {
  const items = new Map<string, string>();
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
}

/** Opens a tab with a chat. `shown` is what it shows: texts, each with its failure. */
function openTab(storage = createStorage(), passGate = rejectGate) {
  const { signal } = new AbortController();
  const context = { base: "/", publicKey: "svc_pk_1", visitor: {}, signal, emit: () => undefined };
  const newId = () => crypto.randomUUID();
  const store = new SessionStore("svc_pk_1", () => storage, newId);
  let shown: string[] = [];
  const show = (entries: readonly Entry[], active?: ActiveEntry) => {
    const all = active ? [...entries.filter(({ id }) => id !== active.entry.id), active.entry] : entries;
    shown = all.filter(({ text }) => text).map(({ text, failed }) => (failed ? `${text} (${failed})` : text));
  };
  const onTurnEnd = vi.fn();
  const chat = new ChatSession(context as unknown as PanelContext, store, newId, {
    show,
    onState: () => undefined,
    passGate,
    onTurnEnd,
  });
  return { chat, store, onTurnEnd, shown: () => shown, storage };
}

type PassGate = ConstructorParameters<typeof ChatSession>[3]["passGate"];
const rejectGate: PassGate = () => Promise.reject(new Error("unexpected"));
const decline: PassGate = () => Promise.reject(new Failure("stopped"));
const messages = () => bodies.map(({ message }) => message);

it.each(["session_not_found", "visitor_mismatch"])(
  "after %s, sends the message in a new session, without the consent of the earlier one",
  async (code) => {
    refusals = [code];
    const { chat, store, onTurnEnd } = openTab();
    store.putGate(store.read().session, { consent_version: "v1" });
    chat.send("Hi");
    await vi.waitFor(() => expect(onTurnEnd).toHaveBeenCalled());
    expect(bodies.map(({ message, consent_version }) => [message, consent_version])).toEqual([
      ["Hi", "v1"],
      ["Hi", undefined],
    ]);
    expect(bodies[1]?.session_id).not.toBe(bodies[0]?.session_id);
  },
);

describe("messages that wait for a reply's end", () => {
  it("are sent one after the other", async () => {
    const { chat, shown } = openTab();
    for (const text of ["one", "two", "three"]) chat.send(text);
    await vi.waitFor(() => expect(shown()).toEqual(["one", "Yes", "two", "Yes", "three", "Yes"]));
  });

  it("are not sent if the visitor declines what each message needs, and stay in the conversation", async () => {
    refusals = ["consent_required", "consent_required"];
    const { chat, shown } = openTab(createStorage(), decline);
    chat.send("one");
    chat.send("two");
    await vi.waitFor(() => expect(shown()).toEqual(["one (stopped)", "two (stopped)"]));
    expect(messages()).toEqual(["one"]);
  });

  it("are not sent if the visitor stops the reply, and stay in the conversation, behind the reply", async () => {
    areRepliesOpen = true;
    const { chat, shown, store } = openTab();
    chat.send("one");
    chat.send("two");
    await vi.waitFor(() => expect(shown()).toEqual(["one", "Yes"]));
    chat.stop();
    await vi.waitFor(() => expect(shown()).toEqual(["one", "Yes (stopped)", "two (stopped)"]));
    areRepliesOpen = false;
    const [, , two] = store.read().entries;
    if (two) chat.retry(two);
    await vi.waitFor(() => expect(shown()).toEqual(["one", "Yes (stopped)", "two", "Yes"]));
    expect(messages()).toEqual(["one", "two"]);
  });

  it("are dropped with the conversation when the visitor starts a new one; the next message is sent there", async () => {
    areRepliesOpen = true;
    const { chat, shown } = openTab();
    chat.send("one");
    chat.send("two");
    await vi.waitFor(() => expect(shown()).toEqual(["one", "Yes"]));
    areRepliesOpen = false;
    chat.startNew();
    expect(shown()).toEqual([]);
    chat.send("three");
    await vi.waitFor(() => expect(shown()).toEqual(["three", "Yes"]));
    expect(messages()).toEqual(["one", "three"]);
    expect(bodies[1]?.session_id).not.toBe(bodies[0]?.session_id);
  });
});

it("shows the reply of the earlier conversation as stopped if the visitor returns to it at once", async () => {
  areRepliesOpen = true;
  const { chat, shown } = openTab();
  chat.send("one");
  await vi.waitFor(() => expect(shown()).toEqual(["one", "Yes"]));
  chat.startNew();
  chat.undo();
  await vi.waitFor(() => expect(shown()).toEqual(["one", "Yes (stopped)"]));
});

describe("when another tab starts a new conversation", () => {
  it("stops the reply of the earlier one and shows the new one", async () => {
    areRepliesOpen = true;
    const { chat, shown, storage } = openTab();
    const other = openTab(storage);
    chat.send("one");
    chat.send("two");
    await vi.waitFor(() => expect(shown()).toEqual(["one", "Yes"]));
    areRepliesOpen = false;
    other.chat.startNew();
    // The panel calls `show` for the storage's event.
    chat.show();
    expect(shown()).toEqual([]);
    chat.send("three");
    await vi.waitFor(() => expect(shown()).toEqual(["three", "Yes"]));
    other.chat.show();
    expect(other.shown()).toEqual(["three", "Yes"]);
    expect(messages()).toEqual(["one", "three"]);
  });
});

describe("a page that is opened after a message has expired", () => {
  it.each([
    ["a message without a reply", [], ["Hi (interrupted)"]],
    ["a reply that has begun", [{ id: "1:a", role: "assistant", text: "Ye" }], ["Hi", "Ye (interrupted)"]],
    [
      "a reply that was stopped",
      [{ id: "1:a", role: "assistant", text: "Ye", failed: "stopped" }],
      ["Hi", "Ye (stopped)"],
    ],
  ] as const)("shows that %s was cut off, and the message can be sent again", async (_, replies, expected) => {
    const { chat, store, shown } = openTab();
    const { session } = store.read();
    const question = { id: "1", role: "user", text: "Hi", key: "key-1", expires: 1 } as const;
    for (const entry of [question, ...replies]) store.put(session, entry);
    chat.show();
    chat.resume();
    expect(shown()).toEqual(expected);
    expect(bodies).toEqual([]);
    chat.retry(question);
    await vi.waitFor(() => expect(shown()).toEqual(["Hi", "Yes"]));
  });
});

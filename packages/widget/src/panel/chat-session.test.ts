import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PanelContext } from "../shared/types.ts";
import { ChatSession } from "./chat-session.ts";
import { SessionStore } from "./session-store.ts";

/** The codes with which the service refuses the next messages. It replies to those after them. */
let refusals: string[];
let bodies: Record<string, string>[];

beforeEach(() => {
  bodies = [];
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("requestAnimationFrame", () => 0);
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
  vi.stubGlobal("fetch", async (_: string, { body }: { body: string }) => {
    bodies.push(JSON.parse(body) as Record<string, string>);
    const error = refusals.shift();
    return error
      ? Response.json({ error }, { status: 404 })
      : new Response(
          'event: meta\ndata: {"message_id":1}\n\nevent: token\ndata: {"text":"Yes"}\n\nevent: done\ndata: {}\n\n',
        );
  });
});
afterEach(() => vi.unstubAllGlobals());

it.each(["session_not_found", "visitor_mismatch"])(
  "after %s, sends the message in a new session, without the consent of the earlier one",
  async (code) => {
    refusals = [code];
    const { signal } = new AbortController();
    const context = { base: "/", publicKey: "svc_pk_1", visitor: {}, signal, emit: () => undefined };
    let ids = 0;
    const newId = () => `id-${ids++}`;
    const refuse = () => {
      throw new DOMException("refused", "SecurityError");
    };
    const store = new SessionStore("svc_pk_1", refuse, newId);
    const ended = Promise.withResolvers<void>();
    const chat = new ChatSession(context as unknown as PanelContext, store, newId, {
      show: () => undefined,
      onState: () => undefined,
      passGate: () => Promise.reject(new Error("unexpected")),
      onTurnEnd: () => ended.resolve(),
    });
    store.putGate(store.read().session, { consent_version: "v1" });
    chat.send("Hi");
    await ended.promise;
    expect(bodies.map(({ message, consent_version }) => [message, consent_version])).toEqual([
      ["Hi", "v1"],
      ["Hi", undefined],
    ]);
    expect(bodies[1]?.session_id).not.toBe(bodies[0]?.session_id);
  },
);

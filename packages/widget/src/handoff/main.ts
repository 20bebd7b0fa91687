// A person of the team who answers the visitor in place of the bot. The panel loads this file if visitors may ask for a person, or a person has the session.

import { addWords } from "../panel/chunk.ts";
import { readVisitorToken } from "../panel/identity.ts";
import { addStyles } from "../shared/dom.ts";
import type { ContactFields } from "./contact-form.ts";
import type { HandoffContext } from "./context.ts";
import { HANDOFF_ENGLISH } from "./english.ts";
import { follow } from "./follow.ts";
import css from "./handoff.css";
import { addMessage, entryIdOf, findHandoff, type LiveMessage, lastMessageId } from "./messages.ts";
import { postRequest } from "./request.ts";
import { createStatus, type HandoffState } from "./status.ts";

/** As in message-log.ts. */
const NEAR_END_PX = 48;

export interface Handoff {
  /** Called when the shown entries have changed. */
  update(): void;
  /** Called when a person may have got the session. Follows it until the bot answers. */
  follow(): void;
}

export async function mountHandoff(context: HandoffContext): Promise<Handoff> {
  const { base, publicKey, bot, visitor, store, emit } = context;
  const words = await addWords(HANDOFF_ENGLISH, context);
  addStyles(context.root.getRootNode() as ShadowRoot, css);
  const log = context.root.querySelector(".log");
  let session = "";
  /** Ends the live stream, and what else belongs to the session. */
  let leaving = new AbortController();
  let isFollowing = false;
  let isAsking = false;
  /** The last state that was shown. Undefined while the bot answers as always. */
  let shown: HandoffState | undefined;
  /** Whether the visitor has left a message that the team is not done with. */
  let isContactPending = false;
  /** The entry that has last started to follow, and the last one when the bot began to answer again. */
  let followedEntry: string | undefined;
  let lastEntry: string | undefined;

  const hasPerson = () => shown !== undefined && shown.state !== "bot";
  const show = (state: HandoffState | undefined) => {
    const pending = { state: "bot", reason: "", contact_pending: true } as const;
    shown = state ?? (isContactPending ? pending : undefined);
    const canAsk = bot.handoff === true && !hasPerson() && store.read().entries.length > 0;
    status.show(shown, canAsk);
  };
  const showState = (state: HandoffState) => {
    isContactPending = state.contact_pending === true;
    const { entries } = store.read();
    const isMarked = entries.some(({ handoff }) => handoff);
    if (state.state === "bot") {
      // Without a mark, the visitor has read earlier how it ended.
      const isNews = isMarked || hasPerson() || isAsking;
      lastEntry = entries.at(-1)?.id;
      show(isNews ? state : undefined);
      if (isMarked) {
        store.continue(
          session,
          entries.map(({ handoff, ...entry }) => entry),
        );
      }
    } else {
      const last = entries.at(-1);
      if (!isMarked && last) {
        store.put(session, { ...last, handoff: true });
      }
      show(state);
    }
  };
  const receive = (message: LiveMessage) => {
    const isAtEnd = log && log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END_PX;
    store.continue(session, addMessage(store.read().entries, message));
    context.show();
    if (isAtEnd) {
      // The log keeps the visitor's last message in view, so that it would not scroll to the later ones of several messages.
      log.scrollTop = log.scrollHeight;
    }
    if (message.role === "assistant") {
      status.stopTyping();
      context.onTurnEnd(entryIdOf(message.id));
      emit("message", { role: "assistant", text: message.content });
    }
  };

  const start = async () => {
    const { signal } = leaving;
    const query = new URLSearchParams({ public_key: publicKey, session_id: session });
    isFollowing = true;
    try {
      await follow({
        url: `${base}api/chat/live/?${query}`,
        after: lastMessageId(store.read().entries),
        signal,
        async headers(): Promise<Record<string, string>> {
          const token = await readVisitorToken(visitor, signal);
          return token ? { Authorization: `Bearer ${token}` } : {};
        },
        onEvent(name, data) {
          // Another tab or the page may have left the session.
          if (signal.aborted || store.read().session !== session) {
            return false;
          }
          status.showProblem("");
          if (name === "state") {
            showState(data as unknown as HandoffState);
            return hasPerson();
          }
          if (name === "message") {
            receive(data as unknown as LiveMessage);
          } else if (name === "typing") {
            status.showTyping((data.agent as { name: string }).name);
          }
          return true;
        },
        onLost: () => status.showProblem(navigator.onLine ? "" : words.offline),
      });
    } catch (error) {
      if (!signal.aborted) {
        console.warn("Parley:", error);
        const hadPerson = hasPerson();
        show(undefined);
        status.showProblem(hadPerson ? words.failed : "");
      }
    }
    if (!signal.aborted) {
      isFollowing = false;
    }
  };
  const followOnce = () => {
    if (!isFollowing) {
      void start();
    }
  };

  const ask = async () => {
    if (isAsking) {
      return;
    }
    const { signal } = leaving;
    isAsking = true;
    // The same text in response to this request is a change then, which the visitor sees and hears. Without the text that an earlier message was sent,
    // which would replace the draft of the next one.
    shown = undefined;
    status.show(shown, true);
    try {
      const state = await postRequest(context, "handoff", { session_id: session }, signal);
      if (!signal.aborted) {
        showState(state);
        if (hasPerson()) {
          followOnce();
        }
      }
    } catch (error) {
      if (!signal.aborted) {
        console.warn("Parley:", error);
        status.showProblem(navigator.onLine ? words.failed : words.offline);
      }
    }
    isAsking = false;
  };
  const leave = async (fields: ContactFields) => {
    const { signal } = leaving;
    try {
      const state = await postRequest(context, "contact", { session_id: session, ...fields }, signal);
      signal.throwIfAborted();
      // Also if the team has answered it since the first attempt: the visitor has not read that it was sent.
      isContactPending = true;
      status.clearDraft();
      // A person may have come while the message was sent.
      if (state.state !== "bot") {
        showState(state);
        followOnce();
      } else if (!hasPerson()) {
        show(undefined);
      }
    } catch (error) {
      // The visitor may have left the session, whose form is cleared then.
      if (!signal.aborted) {
        throw error;
      }
    }
  };
  const status = createStatus(context, words, { ask: () => void ask(), leave });

  const update = () => {
    const current = store.read();
    const { entries } = current;
    const isNew = current.session !== session;
    if (isNew) {
      leaving.abort();
      leaving = new AbortController();
      context.signal.addEventListener("abort", () => leaving.abort(), { once: true });
      isFollowing = isAsking = isContactPending = false;
      status.clearDraft();
      ({ session } = current);
      followedEntry = undefined;
      show(undefined);
    }
    // The state that has ended is shown until the conversation goes on.
    if (!hasPerson() && !isAsking && !status.hasDraft() && (!shown || entries.at(-1)?.id !== lastEntry)) {
      show(undefined);
    }
    const entry = findHandoff(entries);
    const isFromEarlierPage = isNew && bot.handoff && entries.some(({ at = 0 }) => at < performance.timeOrigin);
    if (isFromEarlierPage || (entry && entry !== followedEntry)) {
      followOnce();
    }
    followedEntry = entry;
  };
  return { update, follow: followOnce };
}

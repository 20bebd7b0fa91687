import type { ChunkContext } from "../panel/chunk.ts";
import { fillPlaceholders } from "../panel/words.ts";
import { createElement } from "../shared/dom.ts";
import { type ContactFields, createContactForm } from "./contact-form.ts";
import type { HandoffWords } from "./context.ts";

/** Who answers the visitor, as the service sends it. */
export interface HandoffState {
  readonly state: "bot" | "requested" | "assigned";
  readonly reason: string;
  readonly agent?: { readonly name: string };
  /** Whether the visitor has left a message that the team is not done with. */
  readonly contact_pending?: boolean;
}

/** The reasons for which the bot answers because nobody is there. */
const NOBODY = /^(missed|closed|unanswered)$/;

/** For how long a person is typing after the service has said so. */
const TYPING_MS = 5_000;

export interface StatusActions {
  /** Asks for a person. */
  ask(): void;
  /** Leaves a message for the team. Rejects with a Failure. */
  leave(fields: ContactFields): Promise<void>;
}

/** The part of the panel above the text field that shows who answers, with the button to ask for a person and the form for a message to the team. */
export interface Status {
  /** Shows a state, and announces its text. `canAsk`: the visitor can ask for a person. */
  show(state: HandoffState | undefined, canAsk: boolean): void;
  /** Whether the visitor is writing a message to the team. */
  hasDraft(): boolean;
  /** Removes what the visitor has written to the team. */
  clearDraft(): void;
  showTyping(name: string): void;
  stopTyping(): void;
  /** Shows that a request has failed, or that the connection is lost, beside the state. */
  showProblem(text: string): void;
}

export function createStatus(context: ChunkContext, words: HandoffWords, { ask, leave }: StatusActions): Status {
  const { root, announce } = context;
  const shadow = root.getRootNode() as ShadowRoot;
  const line = createElement("p");
  const problem = createElement("p");
  const button = createElement("button", { type: "button", class: "link", onclick: ask }, words.askPerson);
  /** Blurs first: on a touch screen, the panel leaves the focus in a text field, also in one that is hidden now. */
  const moveFocus = () => {
    (shadow.activeElement as HTMLElement | null)?.blur();
    context.focus();
  };
  const form = createContactForm(context, words, leave, () => {
    form.element.hidden = true;
    moveFocus();
  });
  const box = createElement("div", { class: "handoff", hidden: "" }, line, problem, button, form.element);
  const panel = root.querySelector<HTMLElement>(".panel");
  let text = "";
  let typingTimer: ReturnType<typeof setTimeout> | undefined;
  root.querySelector(".composer")?.before(box);
  const stopTyping = () => {
    clearTimeout(typingTimer);
    typingTimer = undefined;
    line.textContent = text;
  };
  return {
    show(state, canAsk) {
      const shown = state ? textOf(state, words) : "";
      const canLeave = context.bot.handoff === true && state?.state === "bot" && NOBODY.test(state.reason);
      const isNew = shown && shown !== text;
      if (isNew) {
        announce(shown, ...(canLeave ? [words.leave] : []));
      }
      text = shown;
      stopTyping();
      problem.textContent = "";
      const { activeElement } = shadow;
      const hadFocus = activeElement === button ? !canAsk : !canLeave && form.element.contains(activeElement);
      button.hidden = !canAsk;
      // A form that the visitor has hidden stays so until there is news.
      form.element.hidden = !canLeave || (form.element.hidden && !isNew);
      box.hidden = !(shown || canAsk);
      if (panel) {
        // The panel does not show or announce that the bot is writing while it does not answer.
        if (state && state.state !== "bot") {
          panel.dataset.answers = "person";
        } else {
          delete panel.dataset.answers;
        }
      }
      if (hadFocus) {
        moveFocus();
      }
    },
    hasDraft: form.hasDraft,
    clearDraft: form.clear,
    showTyping(name) {
      const typing = fillPlaceholders(words.typing, { name });
      if (!typingTimer) {
        announce(typing);
      }
      clearTimeout(typingTimer);
      typingTimer = setTimeout(stopTyping, TYPING_MS);
      line.textContent = typing;
    },
    stopTyping,
    showProblem(newText) {
      if (newText && newText !== problem.textContent) {
        announce(newText);
      }
      problem.textContent = newText;
      box.hidden &&= !newText;
    },
  };
}

function textOf({ state, reason, agent, contact_pending }: HandoffState, words: HandoffWords): string {
  if (state === "requested") {
    return words.waiting;
  }
  const name = agent?.name ?? "";
  if (state === "assigned") {
    return fillPlaceholders(words.joined, { name });
  }
  if (contact_pending && !reason) {
    return words.messageSent;
  }
  if (reason === "missed" || reason === "closed") {
    return words.nobody;
  }
  const left = name && `${fillPlaceholders(words.left, { name })} `;
  return left + (reason === "unanswered" ? `${words.nobody} ` : "") + words.botAgain;
}

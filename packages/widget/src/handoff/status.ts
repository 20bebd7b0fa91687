import type { ChunkContext } from "../panel/chunk.ts";
import { fillPlaceholders, type Words } from "../panel/words.ts";
import { createElement } from "../shared/dom.ts";
import type { HANDOFF_ENGLISH } from "./english.ts";

export type HandoffWords = Words & Readonly<Record<keyof typeof HANDOFF_ENGLISH, string>>;

/** Who answers the visitor, as the service sends it. */
export interface HandoffState {
  readonly state: "bot" | "requested" | "assigned";
  readonly reason: string;
  readonly agent?: { readonly name: string };
}

/** For how long a person is typing after the service has said so. */
const TYPING_MS = 5_000;

/** The part of the panel above the text field that shows who answers, with the button to ask for a person. */
export interface Status {
  /** Shows a state, and announces its text. `canAsk`: the visitor can ask for a person. */
  show(state: HandoffState | undefined, canAsk: boolean): void;
  showTyping(name: string): void;
  stopTyping(): void;
  /** Shows that a request has failed, or that the connection is lost, beside the state. */
  showProblem(text: string): void;
}

export function createStatus(context: ChunkContext, words: HandoffWords, ask: () => void): Status {
  const { root, announce } = context;
  const line = createElement("p");
  const problem = createElement("p");
  const button = createElement("button", { type: "button", class: "link", onclick: ask }, words.askPerson);
  const box = createElement("div", { class: "handoff", hidden: "" }, line, problem, button);
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
      if (shown && shown !== text) {
        announce(shown);
      }
      text = shown;
      stopTyping();
      problem.textContent = "";
      const { activeElement } = root.getRootNode() as ShadowRoot;
      const hadFocus = activeElement === button;
      button.hidden = !canAsk;
      box.hidden = !(shown || canAsk);
      if (panel) {
        // The panel does not show or announce that the bot is writing while it does not answer.
        if (state && state.state !== "bot") {
          panel.dataset.answers = "person";
        } else {
          delete panel.dataset.answers;
        }
      }
      if (hadFocus && !canAsk) {
        context.focus();
      }
    },
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

function textOf({ state, reason, agent }: HandoffState, words: HandoffWords): string {
  if (state === "requested") {
    return words.waiting;
  }
  const name = agent?.name ?? "";
  if (state === "assigned") {
    return fillPlaceholders(words.joined, { name });
  }
  if (reason === "missed" || reason === "closed") {
    return words.nobody;
  }
  const left = name && `${fillPlaceholders(words.left, { name })} `;
  return left + (reason === "unanswered" ? `${words.nobody} ` : "") + words.botAgain;
}

import { el, icon } from "../shared/dom.ts";
import { fill, type Words } from "./words.ts";

/** The contract's limit on a message, in Unicode code points. */
const MAX_CHARACTERS = 4000;

const SEND = "M12 19V5M6 11l6-6 6 6";
const STOP = "M8 8h8v8H8z";

/** Where the visitor writes. */
export interface Composer {
  readonly element: HTMLFormElement;
  focus(): void;
  /** While an answer is on its way the button stops it instead of sending. */
  busy(yes: boolean): void;
}

/** Makes the composer. `onSend` gets text of 1 to 4,000 characters. */
export function createComposer(words: Words, onSend: (text: string) => void, onStop: () => void): Composer {
  let busy = false;
  const over = el("p", { class: "over", role: "status" });
  const input = el("textarea", {
    rows: "1",
    "aria-label": words.input,
    placeholder: words.placeholder,
    enterkeyhint: "send",
    oninput: () => refresh(),
    onkeydown: (event: KeyboardEvent) => {
      // An Enter that ends the composition of a character sends nothing.
      if (event.key === "Enter" && !(event.shiftKey || event.isComposing)) {
        event.preventDefault();
        submit();
      }
    },
  });
  const button = el("button", { type: "submit", class: "send" }, icon(SEND), icon(STOP));
  const text = () => input.value.trim();
  const excess = () => [...text()].length - MAX_CHARACTERS;

  const submit = () => {
    if (!busy && text() && excess() <= 0) {
      const message = text();
      input.value = "";
      refresh();
      onSend(message);
    }
  };
  const refresh = () => {
    // An empty one takes the panel's direction, for the sake of the placeholder.
    input.dir = input.value && "auto";
    input.style.height = "";
    input.style.height = `${input.scrollHeight}px`;
    over.textContent = excess() > 0 ? fill(words.over, { n: excess() }) : "";
    button.title = button.ariaLabel = busy ? words.stop : words.send;
    button.dataset.busy = String(busy);
    // Not `disabled`: a button that stops being one takes the keyboard's focus with it.
    button.ariaDisabled = String(!(busy || (text() && excess() <= 0)));
  };
  refresh();
  return {
    element: el(
      "form",
      {
        class: "composer",
        onsubmit: (event: Event) => {
          event.preventDefault();
          busy ? onStop() : submit();
        },
      },
      over,
      input,
      button,
    ),
    focus: () => input.focus({ preventScroll: true }),
    busy(yes) {
      busy = yes;
      refresh();
    },
  };
}

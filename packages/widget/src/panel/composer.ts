import { createElement, createIcon } from "../shared/dom.ts";
import { fillPlaceholders, type Words } from "./words.ts";

/** The service's limit on a message, in Unicode code points. */
const MAX_CHARACTERS = 4000;

const SEND_ICON = "M12 19V5M6 11l6-6 6 6";
const STOP_ICON = "M6 6h12v12H6z";

/** The form in which the visitor writes a message. */
export interface Composer {
  readonly element: HTMLFormElement;
  focus(): void;
  /** Removes the draft. */
  clear(): void;
  /** Busy: a reply is being received, and the button stops the reply instead of sending a message. */
  setBusy(busy: boolean): void;
  isBusy(): boolean;
}

/** Creates the composer. It calls `onSend` with a trimmed text of 1 to 4,000 characters. */
export function createComposer(words: Words, onSend: (text: string) => void, onStop: () => void): Composer {
  let isBusy = false;
  const excessNotice = createElement("p", { class: "excess", role: "status" });
  const input = createElement("textarea", {
    rows: "1",
    "aria-label": words.input,
    placeholder: words.placeholder,
    enterkeyhint: "send",
    oninput: () => update(),
    onkeydown: (event: KeyboardEvent) => {
      // Enter that confirms an IME's text has the keyCode 229. `isComposing` does not detect this Enter in Safari.
      if (event.keyCode === 13 && !event.shiftKey) {
        event.preventDefault();
        submit();
      }
    },
  });
  const button = createElement(
    "button",
    { type: "submit", class: "send" },
    createIcon(SEND_ICON),
    createIcon(STOP_ICON),
  );
  const text = () => input.value.trim();
  const countExcess = () => [...text()].length - MAX_CHARACTERS;

  const submit = () => {
    if (!isBusy && text() && countExcess() <= 0) {
      const message = text();
      clear();
      onSend(message);
    }
  };
  const clear = () => {
    input.value = "";
    update();
  };
  const update = () => {
    // An empty field has the panel's direction, because the placeholder is in the panel's language.
    input.dir = input.value && "auto";
    // A hidden field has no height to read.
    if (input.scrollHeight) {
      input.style.height = "";
      input.style.height = `${input.scrollHeight}px`;
    }
    excessNotice.textContent = countExcess() > 0 ? fillPlaceholders(words.excess, { n: countExcess() }) : "";
    button.title = isBusy ? words.stop : words.send;
    button.setAttribute("aria-label", button.title);
    button.dataset.busy = String(isBusy);
    // Not `disabled`, because a button that becomes disabled loses the keyboard focus.
    button.setAttribute("aria-disabled", String(!(isBusy || (text() && countExcess() <= 0))));
  };
  update();
  return {
    element: createElement(
      "form",
      {
        class: "composer",
        onsubmit: (event: Event) => {
          event.preventDefault();
          isBusy ? onStop() : submit();
        },
      },
      excessNotice,
      input,
      button,
    ),
    focus: () => input.focus({ preventScroll: true }),
    clear,
    isBusy: () => isBusy,
    setBusy(busy) {
      isBusy = busy;
      update();
    },
  };
}

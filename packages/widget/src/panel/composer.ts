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

export interface ComposerActions {
  /** Receives a trimmed text of 1 to 4,000 characters. */
  onSend(text: string): void;
  onStop(): void;
  /** Announces a text to screen readers. */
  announce(text: string): void;
}

export function createComposer(words: Words, { onSend, onStop, announce }: ComposerActions): Composer {
  let isBusy = false;
  let isTooLong = false;
  const excessNotice = createElement("p", { class: "excess", id: "excess" });
  const input = createElement("textarea", {
    rows: "1",
    "aria-label": words.input,
    "aria-describedby": "excess",
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
    if (isTooLong) {
      announce(excessNotice.textContent);
    } else if (!isBusy && text()) {
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
    const excess = countExcess();
    const wasTooLong = isTooLong;
    isTooLong = excess > 0;
    excessNotice.textContent = isTooLong ? fillPlaceholders(words.excess, { n: excess }) : "";
    input.setAttribute("aria-invalid", String(isTooLong));
    // Not at each key: a screen reader would not come to the end.
    if (isTooLong && !wasTooLong) {
      announce(excessNotice.textContent);
    }
    button.title = isBusy ? words.stop : words.send;
    button.setAttribute("aria-label", button.title);
    button.dataset.busy = String(isBusy);
    // Not `disabled`, because a button that becomes disabled loses the keyboard focus.
    button.setAttribute("aria-disabled", String(!isBusy && (isTooLong || !text())));
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

import type { ChunkContext } from "../panel/chunk.ts";
import { fillPlaceholders } from "../panel/words.ts";
import { createElement } from "../shared/dom.ts";
import { Failure } from "../shared/failure.ts";
import { toStorable } from "../shared/storable.ts";
import { createUuid } from "../shared/uuid.ts";
import type { HandoffWords } from "./context.ts";

/** The service's limit, in Unicode code points. */
const MAX_CHARACTERS = 4000;

export type ContactFields = { readonly email: string; readonly message: string; readonly request_id: string };

/** The form in which the visitor leaves a message for the team. Its texts stay while it is hidden. */
export interface ContactForm {
  readonly element: HTMLFormElement;
  /** Whether the form is shown, and has a text or the focus. */
  hasDraft(): boolean;
  /** Removes the texts. */
  clear(): void;
}

/** `send` rejects with a Failure. The form is hidden and empty after it was sent. */
export function createContactForm(
  { announce }: ChunkContext,
  words: HandoffWords,
  send: (fields: ContactFields) => Promise<void>,
  onCancel: () => void,
): ContactForm {
  let isSending = false;
  /** A repeat of the same texts has the same id, so that a message whose response was lost is stored once. */
  let request = { texts: "", id: "" };
  const email = createElement("input", { type: "email", autocomplete: "email", dir: "ltr" });
  const message = createElement("textarea", { rows: "3", dir: "auto" });
  const emailField = createField("contact-email", words.email, email);
  const messageField = createField("contact-text", words.toTeam, message);
  const problem = createElement("p", { class: "contact-error" });
  const button = createElement("button", { type: "submit", class: "chip agree" }, words.send);

  const findFaults = (address: string, text: string) => {
    const excess = [...text].length - MAX_CHARACTERS;
    emailField.show(address && email.validity.valid ? "" : words.badEmail);
    messageField.show(text ? (excess > 0 ? fillPlaceholders(words.excess, { n: excess }) : "") : words.noText);
  };
  /** Moves the focus to the first field with an error. Returns whether there is one. */
  const focusFault = () => {
    const fault = [email, message].find((field) => field.getAttribute("aria-invalid") === "true");
    if (fault?.matches(":focus")) {
      // A screen reader reads the error when the field gets the focus, and not if it has it.
      announce(fault.nextElementSibling?.textContent ?? "");
    }
    fault?.focus();
    return fault !== undefined;
  };
  const setSending = (value: boolean) => {
    isSending = value;
    // Nothing that the visitor changes now would be sent.
    email.readOnly = message.readOnly = value;
    // Not `disabled`, because a button that becomes disabled loses the keyboard focus.
    button.setAttribute("aria-disabled", String(value));
  };
  const submit = async () => {
    const [address, text] = [email.value.trim(), toStorable(message.value)];
    problem.textContent = "";
    findFaults(address, text);
    if (isSending || focusFault()) {
      return;
    }
    const texts = JSON.stringify([address, text]);
    if (request.texts !== texts) {
      request = { texts, id: createUuid() };
    }
    setSending(true);
    try {
      await send({ email: address, message: text, request_id: request.id });
    } catch (error) {
      console.warn("Parley:", error);
      // A timeout has a number as its code, which is none of the service's.
      const code = error instanceof Failure ? error.code : "";
      if (code === "invalid_email") {
        emailField.show(words.badEmail);
        focusFault();
      } else {
        problem.textContent = problemOf(code, words);
        announce(problem.textContent);
      }
    }
    setSending(false);
  };
  const element = createElement(
    "form",
    {
      class: "contact",
      novalidate: "",
      hidden: "",
      "aria-labelledby": "contact",
      onsubmit: (event: Event) => {
        event.preventDefault();
        void submit();
      },
    },
    createElement("p", { id: "contact" }, words.leave),
    emailField.element,
    messageField.element,
    problem,
    createElement(
      "div",
      { class: "chips" },
      button,
      createElement("button", { type: "button", class: "chip", onclick: onCancel }, words.notNow),
    ),
  );
  return {
    element,
    hasDraft: () => !element.hidden && (element.matches(":focus-within") || Boolean(email.value || message.value)),
    clear() {
      element.reset();
      request = { texts: "", id: "" };
      for (const each of [emailField, messageField]) {
        each.show("");
      }
      problem.textContent = "";
    },
  };
}

function problemOf(code: string, words: HandoffWords): string {
  if (code === "contact_limit_reached") {
    return words.tooMany;
  }
  // Without a code, no response has arrived.
  if (code) {
    return words.failed;
  }
  return navigator.onLine ? words.network : words.offline;
}

/** Returns a field with its label, and the text of its error below, which a screen reader reads with the field. */
function createField(id: string, label: string, input: HTMLInputElement | HTMLTextAreaElement) {
  const error = createElement("p", { class: "contact-error", id: `${id}-error` });
  const show = (text: string) => {
    error.textContent = text;
    input.setAttribute("aria-invalid", String(text !== ""));
  };
  input.id = id;
  input.setAttribute("aria-describedby", error.id);
  // Once the visitor corrects the field, its error is out of date.
  input.addEventListener("input", () => show(""));
  return { element: createElement("div", {}, createElement("label", { for: id }, label), input, error), show };
}

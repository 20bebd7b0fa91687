import { createElement } from "../shared/dom.ts";
import { Failure } from "../shared/failure.ts";
import type { GateFields, GateRequest } from "./request.ts";

/** What the visitor must agree to. */
interface Consent {
  readonly version: string;
  /** Markdown. */
  readonly text: string;
  /** An https URL; empty for none. */
  readonly link: string;
}

/** Asks the visitor for a consent. Rejects with the code `stopped` if the visitor declines: the message stays, with a button to try again. */
export function askConsent({ words, refusal, root, box, announce, renderMarkdown }: GateRequest): Promise<GateFields> {
  const { version, text, link } = refusal.body.consent as Consent;
  // The text may be in another language than the panel.
  const content = createElement("div", { dir: "auto" });
  renderMarkdown(content, text, document.baseURI, words.code);
  return new Promise((resolve, reject) => {
    const agree = () => resolve({ consent_version: version });
    const decline = () => reject(new Failure("stopped"));
    const button = (name: string, label: string, onclick: () => void) =>
      createElement("button", { type: "button", class: name, onclick }, label);
    const group = createElement(
      "div",
      {
        role: "group",
        "aria-labelledby": "consent",
        "aria-describedby": "consent-text",
        tabindex: "-1",
        onkeydown: (event: KeyboardEvent) => {
          // As in the dialog, which would close: Escape has the keyCode 229 during an IME composition.
          if (event.keyCode === 27) {
            event.stopPropagation();
            decline();
          }
        },
      },
      createElement("h3", { id: "consent" }, words.consent),
      createElement("div", { id: "consent-text", class: "bubble" }, content),
      ...(link.startsWith("https:")
        ? [createElement("a", { class: "link", href: link, target: "_blank", rel: "noopener noreferrer" }, words.more)]
        : []),
      createElement(
        "div",
        { class: "chips" },
        button("chip agree", words.agree, agree),
        button("chip", words.decline, decline),
      ),
    );
    box.append(group);
    const shadow = root.getRootNode() as ShadowRoot;
    // If the visitor uses the page, the focus stays there.
    if (shadow.activeElement) {
      group.focus();
    }
    if (shadow.activeElement !== group) {
      announce(words.consent);
    }
  });
}

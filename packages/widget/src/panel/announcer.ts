import { createElement } from "../shared/dom.ts";

/** A part of the panel that only screen readers perceive. They read each change of it when they have nothing else to read. */
export interface Announcer {
  readonly element: HTMLElement;
  /** Replaces the text. Each line is a paragraph, so that screen readers pause between lines. */
  announce(...lines: readonly string[]): void;
}

export function createAnnouncer(): Announcer {
  const element = createElement("div", { class: "sr", role: "status" });
  return {
    element,
    announce: (...lines) => element.replaceChildren(...lines.map((line) => createElement("p", {}, line))),
  };
}

import type { Entry } from "../panel/session-store.ts";

/** Shows the name of the person who wrote a message, in place of the bot's name, which only screen readers read. Does nothing for other messages. */
export function showAgent(element: HTMLElement, { agent }: Pick<Entry, "agent">): void {
  const author = element.querySelector(".sr");
  if (agent && author) {
    element.setAttribute("aria-label", agent);
    author.textContent = agent;
    author.className = "author";
    author.setAttribute("dir", "auto");
  }
}

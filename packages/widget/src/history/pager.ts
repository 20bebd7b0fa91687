import { createElement } from "../shared/dom.ts";
import type { Page } from "./api.ts";
import type { HistoryWords } from "./context.ts";

export interface PagerOptions<Item> {
  readonly words: HistoryWords;
  /** The text of the button that loads the next page. */
  readonly label: string;
  /** The text if the first page is empty. */
  readonly emptyText?: string;
  load(cursor: string | undefined): Promise<Page<Item>>;
  /** Shows the items of a page, and returns the elements in the order of the items. */
  show(items: readonly Item[], isFirst: boolean): readonly HTMLElement[];
  announce(text: string): void;
}

/**
 * Creates the element that shows that a page is loading, is empty or could not be loaded, with a button for the next page or to try again. Loads the
 * first page. If the button has the focus, the focus moves to the first element of the loaded page.
 */
export function createPager<Item>(options: PagerOptions<Item>): HTMLElement {
  const { words, label, emptyText = "", announce } = options;
  let cursor: string | undefined;
  let isLoading = false;
  const notice = createElement("span");
  const button = createElement("button", { type: "button", class: "link", hidden: "", onclick: () => void load() });
  const element = createElement("p", { class: "notice" }, notice, " ", button);
  const setNotice = (text: string) => {
    notice.textContent = text;
    announce(text);
  };
  const load = async () => {
    if (isLoading) {
      return;
    }
    isLoading = true;
    // Not `disabled`, because a button that becomes disabled loses the keyboard focus.
    button.setAttribute("aria-disabled", "true");
    setNotice(words.loading);
    try {
      const { items, next } = await options.load(cursor);
      if (!element.isConnected) {
        return;
      }
      const isFirst = cursor === undefined;
      const [first] = options.show(items, isFirst);
      const hadFocus = (element.getRootNode() as ShadowRoot).activeElement === button;
      notice.textContent = isFirst && items.length === 0 ? emptyText : "";
      if (notice.textContent) {
        announce(notice.textContent);
      }
      cursor = next ?? undefined;
      button.textContent = label;
      if (hadFocus) {
        first?.focus();
      }
      button.hidden = next === null;
    } catch {
      if (!element.isConnected) {
        return;
      }
      setNotice(words.loadingFailed);
      button.textContent = words.retry;
      button.hidden = false;
    }
    button.removeAttribute("aria-disabled");
    isLoading = false;
  };
  void load();
  return element;
}

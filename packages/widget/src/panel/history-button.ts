import type { HistoryContext } from "../history/context.ts";
import type { History } from "../history/main.ts";
import { createElement } from "../shared/dom.ts";
import { loadChunk } from "./chunk.ts";
import { createIconButton } from "./dialog.ts";

const HISTORY_ICON = "M4 12a8 8 0 1 0 2.5-5.8L4 8.5M4 4v4.5h4.5M12 8v4l3 2";

/** The button that shows the verified visitor's past conversations. */
export interface HistoryButton {
  readonly element: HTMLElement;
  /** Shows the button while the page gives a token for the visitor. Closes the past conversations otherwise. */
  update(): void;
  /** Shows the chat again. */
  close(): void;
}

/** The button's first click loads the chunk `history`. If that fails, the visitor sees a notice and can click again. */
export function createHistoryButton(context: Omit<HistoryContext, "opener">): HistoryButton {
  const { words, visitor, load, root } = context;
  const failure = createElement("p", { class: "excess", role: "alert" }, words.failed);
  let history: History | undefined;
  let isLoading = false;
  /** False if the visitor has left for the chat, or has closed the panel, since the click. */
  let isWanted = false;
  const open = async () => {
    isLoading = true;
    try {
      // The build defines HISTORY: see globals.d.ts.
      const chunk = await loadChunk<typeof import("../history/main.ts")>(context, HISTORY);
      history = await chunk.mountHistory({ ...context, opener: element });
      if (isWanted) {
        history.open();
      }
    } catch (error) {
      console.warn("Parley:", error);
      if (isWanted) {
        root.querySelector(".composer")?.prepend(failure);
      }
    }
    isLoading = false;
  };
  const close = () => {
    isWanted = false;
    failure.remove();
    history?.close();
  };
  const element = createIconButton(words.history, HISTORY_ICON, () => {
    failure.remove();
    isWanted = true;
    if (history) {
      history.open();
    } else if (!isLoading) {
      void open();
    }
  });
  return {
    element,
    update() {
      element.hidden = !(load && visitor.visitorToken);
      if (element.hidden) {
        close();
      }
    },
    close,
  };
}

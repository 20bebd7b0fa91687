/**
 * Pages listen to these events for shortcuts, for copy protection, to keep the focus in a dialog, and to scroll smoothly. Pointer events and clicks
 * reach the page, because a click in the chat closes the page's menus.
 */
const EVENTS = [
  ...["keydown", "keypress", "keyup"],
  ...["beforeinput", "input", "compositionstart", "compositionupdate", "compositionend"],
  ...["copy", "cut", "paste", "selectstart", "contextmenu", "dragstart"],
  ...["focus", "blur", "focusin", "focusout"],
  ...["wheel", "touchmove"],
] as const;

/**
 * Stops the widget's events before the page's listeners get them. Only listeners on the window that capture events and were added earlier still get
 * them, with the host as the target.
 */
export function keepEventsFromPage(host: Element, signal: AbortSignal): void {
  const pressedKeys = new Set<string>();
  const handle = (event: Event) => {
    const isOwn = event.target === host;
    if (isOwn && event.type === "keydown") {
      pressedKeys.add((event as KeyboardEvent).code);
    }
    // After a key that moves the focus to the page, such as Escape, the page would get keyup without keydown.
    const endsOwnKey = event.type === "keyup" && pressedKeys.delete((event as KeyboardEvent).code);
    if (isOwn || endsOwnKey || leavesPageDialog(event, host)) {
      event.stopImmediatePropagation();
    }
    if (isOwn) {
      passOn(event);
    }
  };
  for (const type of EVENTS) {
    addEventListener(type, handle, { capture: true, passive: type === "wheel" || type === "touchmove", signal });
  }
  // Shortcut libraries ignore events on editable elements.
  Object.defineProperty(host, "isContentEditable", { value: true });
}

/** Whether the focus moves from a dialog of the page to the widget. Dialogs take the focus back on this event. */
function leavesPageDialog(event: Event, host: Element): boolean {
  return (
    event instanceof FocusEvent &&
    event.relatedTarget === host &&
    event.target instanceof Element &&
    event.target.closest("[role$=dialog],[aria-modal=true]") !== null
  );
}

/** Repeats a stopped event for the widget's own listeners. It does not leave the shadow root. */
function passOn(event: Event): void {
  const [target] = event.composedPath();
  if (event.type === "input") {
    target?.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (event.type === "keydown") {
    const { key, keyCode, shiftKey } = event as KeyboardEvent;
    const copy = new KeyboardEvent("keydown", { key, keyCode, shiftKey, bubbles: true, cancelable: true });
    if (!target?.dispatchEvent(copy)) {
      event.preventDefault();
    }
  }
}

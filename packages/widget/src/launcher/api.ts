import type { Visitor, WidgetEvents } from "../shared/types.ts";

/** `window.Parley`, the widget's only global. */
export interface ParleyApi {
  readonly publicKey: string;
  open(): void;
  close(): void;
  toggle(): void;
  /** Opens the panel and sends the text as the visitor's message. */
  send(text: string): void;
  /**
   * Subscribes to an event and returns the function that unsubscribes.
   * Each event is also dispatched on `document` as `parley:<name>`.
   */
  on<Name extends keyof WidgetEvents>(name: Name, listener: (detail: WidgetEvents[Name]) => void): () => void;
  /**
   * Replaces the given fields of the visitor's identity, for messages sent from now on. Another id than the page's last one, or no id any more,
   * has the effect of `reset` first. So has the id null. Without an argument, removes the id.
   */
  identify(visitor?: Visitor): void;
  /** Forgets the session, the draft and the visitor, in every tab. */
  reset(): void;
  /** Removes the widget from the page and cancels its requests. The stored session stays. */
  destroy(): void;
}

declare global {
  interface Window {
    Parley?: ParleyApi | undefined;
  }
}

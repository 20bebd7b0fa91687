import type { Visitor, WidgetEvents } from "../shared/types.ts";

/** `window.Parley`: the one global of the widget. */
export interface ParleyApi {
  readonly publicKey: string;
  open(): void;
  close(): void;
  toggle(): void;
  /** Opens the panel and sends the text as the visitor's message. */
  send(text: string): void;
  /** Calls back on an event; the function it returns ends that. The same events reach `document` as `parley:<name>`. */
  on<Name extends keyof WidgetEvents>(name: Name, listener: (detail: WidgetEvents[Name]) => void): () => void;
  /** Says who the visitor is, from the next message on. */
  identify(visitor: Visitor): void;
  /** Removes the widget and everything it put on the page; the conversation stays stored. */
  destroy(): void;
}

declare global {
  interface Window {
    Parley?: ParleyApi | undefined;
  }
}

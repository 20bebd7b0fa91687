/** How many response bytes of a call may be unread before the server pauses the call's handler. */
export const FLOW_CONTROL_WINDOW_BYTES = 16 * 1024;

/** Counts, at the server, the response bytes of one call that the caller has not read. */
export class SendWindow {
  #unreadBytes = 0;
  #opened: PromiseWithResolvers<void> | undefined;

  /** If the window is full, returns a promise. The next response must wait until the promise resolves. */
  addSent(bytes: number): Promise<void> | undefined {
    this.#unreadBytes += bytes;
    if (this.#unreadBytes < FLOW_CONTROL_WINDOW_BYTES) return undefined;
    this.#opened ??= Promise.withResolvers();
    return this.#opened.promise;
  }

  addRead(bytes: number): void {
    this.#unreadBytes -= bytes;
    if (this.#unreadBytes < FLOW_CONTROL_WINDOW_BYTES) this.open();
  }

  /** Lets a waiting sender continue, for example because its call was cancelled. */
  open(): void {
    this.#opened?.resolve();
    this.#opened = undefined;
  }
}

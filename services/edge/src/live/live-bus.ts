import type { LiveSignal } from "../turns/index.ts";

export type LiveListener = (signal: LiveSignal) => void;

/** Passes signals between the requests of all edges. A signal may be lost: the database has the messages. */
export type LiveBus = {
  publish(signal: LiveSignal): void;
  /** Returns a function that ends the subscription. */
  subscribe(session: { workspaceId: string; sessionId: string }, listener: LiveListener): () => void;
  /** Whether signals of other edges arrive. */
  isShared(): boolean;
};

/** The bus of one process. */
export class LocalLiveBus implements LiveBus {
  readonly #listeners = new Map<string, Set<LiveListener>>();

  publish(signal: LiveSignal): void {
    for (const listener of this.#listeners.get(keyOf(signal)) ?? []) listener(signal);
  }

  subscribe(session: { workspaceId: string; sessionId: string }, listener: LiveListener): () => void {
    const key = keyOf(session);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  isShared(): boolean {
    return false;
  }
}

const keyOf = ({ workspaceId, sessionId }: { workspaceId: string; sessionId: string }) => `${workspaceId} ${sessionId}`;

import type { LiveSignal } from "../turns/index.ts";

/** A session, or without `sessionId` all sessions of a workspace. */
export type LiveTarget = { workspaceId: string; sessionId?: string };

export type LiveListener = (signal: LiveSignal) => void;

/** Passes signals between the requests of all edges. A signal may be lost: the database has the messages. */
export type LiveBus = {
  publish(signal: LiveSignal): void;
  /** Subscribes to the signals of one session, or of all sessions of a workspace. Returns a function that ends the subscription. */
  subscribe(target: LiveTarget, listener: LiveListener): () => void;
  /** Whether signals of other edges arrive. */
  isShared(): boolean;
};

/** The bus of one process. */
export class LocalLiveBus implements LiveBus {
  readonly #listeners = new Map<string, Set<LiveListener>>();

  publish(signal: LiveSignal): void {
    for (const target of [signal, { workspaceId: signal.workspaceId }])
      for (const listener of this.#listeners.get(keyOf(target)) ?? []) listener(signal);
  }

  subscribe(target: LiveTarget, listener: LiveListener): () => void {
    const key = keyOf(target);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  /** Wakes all listeners, because signals may be lost. */
  wake(): void {
    for (const listeners of this.#listeners.values())
      for (const listener of listeners) listener({ workspaceId: "", sessionId: "", type: "changed" });
  }

  isShared(): boolean {
    return false;
  }
}

const keyOf = ({ workspaceId, sessionId = "" }: LiveTarget) => `${workspaceId} ${sessionId}`;

import { RpcError, status } from "@parley/rpc";
import { HttpError } from "../http/index.ts";

/** Even if OpenTurn's semantic search takes 300 ms, a workspace can start 200 turns a second. */
const MAX_STARTING_OF_WORKSPACE = 64;
/** Limit for all workspaces of this process together. */
const MAX_STARTING = 256;
/** A longer queue is an overload, not a burst. */
const MAX_WAITING_OF_WORKSPACE = 1_000;
/** If a workspace's oldest waiting turn has waited this long, new turns of the workspace are refused immediately: they would wait too long. */
const MAX_WAIT_OF_OLDEST_MS = 5_000;
const MAX_WAIT_MS = 10_000;

type Waiter = { sinceMs: number; begin: () => void };

type WorkspaceStarts = {
  starting: number;
  /** The turns that wait, oldest first. */
  readonly waiters: Set<Waiter>;
};

/** Why a turn was refused: `workspace` if its workspace was starting MAX_STARTING_OF_WORKSPACE turns, otherwise `overload`. */
export type StartRefusal = "workspace" | "overload";

/**
 * Limits how many turns are being started concurrently. Starting a turn means opening it and reserving a message of the quota. Turns above the
 * limits wait before any work is done for them, so they do not slow down the other turns.
 *
 * The process has 256 places. A workspace may start a turn only while it is starting fewer turns than there are free places. If nine workspaces
 * are stuck, for example because their usage rows are locked, they therefore take 64, 64, 64, 32, 16, 8, 4, 2 and 1 places, and leave one.
 */
export class TurnStartLimiter {
  #starting = 0;
  /** In round-robin order: a workspace moves to the end when one of its waiting turns begins. */
  readonly #workspaces = new Map<string, WorkspaceStarts>();
  readonly #onRefused: (reason: StartRefusal) => void;
  readonly #onWaiting: (change: 1 | -1) => void;

  /**
   * @param onRefused called for each refused turn
   * @param onWaiting called with 1 when a turn begins to wait, and with -1 when it no longer waits
   */
  constructor(onRefused: (reason: StartRefusal) => void, onWaiting: (change: 1 | -1) => void = () => undefined) {
    this.#onRefused = onRefused;
    this.#onWaiting = onWaiting;
  }

  /**
   * Waits for a place for a turn of the workspace. Returns a function that frees the place. The caller must call this function when the turn has
   * started or failed; further calls have no effect. Throws RESOURCE_EXHAUSTED with the code `overloaded` if too many turns of the workspace
   * wait, the oldest of them has waited for 5 s, or this turn has waited for 10 s. Throws 499 client_gone if the signal is aborted while the
   * turn waits.
   */
  async begin(workspaceId: string, signal: AbortSignal): Promise<() => void> {
    const workspace = this.#workspaces.get(workspaceId) ?? { starting: 0, waiters: new Set() };
    this.#workspaces.set(workspaceId, workspace);
    if (isOverloaded(workspace)) throw this.#refuse(workspace);
    if (workspace.waiters.size === 0 && this.#hasRoom(workspace)) this.#count(workspace, 1);
    else await this.#wait(workspaceId, workspace, signal);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count(workspace, -1);
      while (this.#beginNext());
      this.#forgetIfIdle(workspaceId, workspace);
    };
  }

  #hasRoom({ starting }: WorkspaceStarts): boolean {
    return starting < Math.min(MAX_STARTING_OF_WORKSPACE, MAX_STARTING - this.#starting);
  }

  #count(workspace: WorkspaceStarts, change: 1 | -1): void {
    workspace.starting += change;
    this.#starting += change;
  }

  #wait(workspaceId: string, workspace: WorkspaceStarts, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        workspace.waiters.delete(waiter);
        this.#onWaiting(-1);
        settle();
        this.#forgetIfIdle(workspaceId, workspace);
      };
      const waiter = { sinceMs: performance.now(), begin: () => end(resolve) };
      const onAbort = () => end(() => reject(new HttpError(499, "client_gone")));
      const timer = setTimeout(() => end(() => reject(this.#refuse(workspace))), MAX_WAIT_MS);
      workspace.waiters.add(waiter);
      this.#onWaiting(1);
      signal.addEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
    });
  }

  /** Begins a waiting turn of the next workspace that has room. Returns false if there is no such turn. */
  #beginNext(): boolean {
    for (const [workspaceId, workspace] of this.#workspaces) {
      const [oldest] = workspace.waiters;
      if (oldest === undefined || !this.#hasRoom(workspace)) continue;
      this.#workspaces.delete(workspaceId);
      this.#workspaces.set(workspaceId, workspace);
      this.#count(workspace, 1);
      oldest.begin();
      return true;
    }
    return false;
  }

  #forgetIfIdle(workspaceId: string, { starting, waiters }: WorkspaceStarts): void {
    if (starting === 0 && waiters.size === 0) this.#workspaces.delete(workspaceId);
  }

  #refuse({ starting }: WorkspaceStarts): RpcError {
    this.#onRefused(starting >= MAX_STARTING_OF_WORKSPACE ? "workspace" : "overload");
    return overloaded();
  }
}

function isOverloaded({ waiters }: WorkspaceStarts): boolean {
  const [oldest] = waiters;
  const waitedMs = oldest === undefined ? 0 : performance.now() - oldest.sinceMs;
  return waiters.size >= MAX_WAITING_OF_WORKSPACE || waitedMs >= MAX_WAIT_OF_OLDEST_MS;
}

function overloaded(): RpcError {
  return new RpcError(status.RESOURCE_EXHAUSTED, "overloaded", "too many turns wait to be started");
}

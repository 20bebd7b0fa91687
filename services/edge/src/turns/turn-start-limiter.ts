import { RpcError, status } from "@parley/rpc";
import { FairQueue } from "@parley/service-kit";
import { LRUCache } from "lru-cache";
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
const MAX_KNOWN_WORKSPACES = 10_000;

/** Why a turn was refused: `workspace` if its workspace was starting MAX_STARTING_OF_WORKSPACE turns, otherwise `overload`. */
export type StartRefusal = "workspace" | "overload";

/**
 * Limits how many turns are being started concurrently. Starting a turn means opening it and reserving a message of the quota. Turns above the
 * limits wait before any work is done for them, so they do not slow down the other turns.
 *
 * The process has 256 places. A workspace may start a turn only while it is starting fewer turns than there are free places. If nine workspaces
 * are stuck, for example because their usage rows are locked, they therefore take 64, 64, 64, 32, 16, 8, 4, 2 and 1 places, and leave one. With
 * several shards, the workspaces of one shard together may start a turn only while they start fewer turns than there are free places. So a shard
 * that does not respond takes at most half of the places.
 */
export class TurnStartLimiter {
  readonly #queue: FairQueue;
  readonly #onRefused: (reason: StartRefusal) => void;
  readonly #shards = new LRUCache<string, string>({ max: MAX_KNOWN_WORKSPACES });

  /**
   * @param onRefused called for each refused turn
   * @param onWaiting called with 1 when a turn begins to wait, and with -1 when it no longer waits
   */
  constructor(onRefused: (reason: StartRefusal) => void, onWaiting?: (change: 1 | -1) => void) {
    this.#onRefused = onRefused;
    this.#queue = new FairQueue({
      maxActive: MAX_STARTING,
      maxActiveOfWorkspace: MAX_STARTING_OF_WORKSPACE,
      maxActivePerFreePlace: 1,
      groupOf: (workspaceId) => this.#shards.get(workspaceId),
      maxWaitMs: MAX_WAIT_MS,
      createTimeoutError: (workspaceId) => this.#refuse(workspaceId),
      onWaiting,
    });
  }

  /** Stores the shard of a workspace, if there are several shards. */
  setShard(workspaceId: string, shard: number): void {
    this.#shards.set(workspaceId, String(shard));
  }

  /**
   * Waits for a place for a turn of the workspace. Returns a function that frees the place. The caller must call this function when the turn has
   * started or failed; further calls have no effect. Throws RESOURCE_EXHAUSTED with the code `overloaded` if too many turns of the workspace
   * wait, the oldest of them has waited for 5 s, or this turn has waited for 10 s. Throws 499 client_gone if the signal is aborted while the
   * turn waits.
   */
  async begin(workspaceId: string, signal: AbortSignal): Promise<() => void> {
    if (this.#isOverloaded(workspaceId)) throw this.#refuse(workspaceId);
    try {
      return await this.#queue.acquire(workspaceId, signal);
    } catch (error) {
      throw signal.aborted ? new HttpError(499, "client_gone") : error;
    }
  }

  #isOverloaded(workspaceId: string): boolean {
    const waiters = this.#queue.waiting.get(workspaceId);
    if (waiters === undefined) return false;
    const [oldest] = waiters;
    const waitedMs = oldest === undefined ? 0 : performance.now() - oldest.sinceMs;
    return waiters.size >= MAX_WAITING_OF_WORKSPACE || waitedMs >= MAX_WAIT_OF_OLDEST_MS;
  }

  #refuse(workspaceId: string): RpcError {
    this.#onRefused(this.#queue.activeOf(workspaceId) >= MAX_STARTING_OF_WORKSPACE ? "workspace" : "overload");
    return new RpcError(status.RESOURCE_EXHAUSTED, "overloaded", "too many turns wait to be started");
  }
}

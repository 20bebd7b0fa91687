import { RpcError, status } from "@parley/rpc";

/** A semantic search may take 300 ms, so a workspace can start 200 turns a second. */
const MAX_STARTING_OF_WORKSPACE = 64;
/** So a workspace that is stuck, for example because its usage row is locked, takes a quarter. */
const MAX_STARTING = 4 * MAX_STARTING_OF_WORKSPACE;
/** More messages at once are an overload, not a burst. */
const MAX_WAITING_OF_WORKSPACE = 1_000;
const MAX_WAIT_MS = 10_000;

type WorkspaceStarts = {
  starting: number;
  /** Functions that begin the waiting turns, oldest first. */
  readonly waiters: Set<() => void>;
};

/** Which limit kept a turn from being started: its workspace's own, or that of the process. */
export type StartRefusal = "workspace" | "overload";

/**
 * Limits how many turns are being started at once: a turn is opened, and a message of the quota is reserved. Later turns wait before any
 * work is done for them, so the turns that have started get the processor and the databases, and end in time.
 */
export class TurnStarts {
  #starting = 0;
  /** The workspaces with turns that start or wait. The workspace that began a waiting turn last is the last one. */
  readonly #workspaces = new Map<string, WorkspaceStarts>();
  readonly #onRefused: (reason: StartRefusal) => void;

  /** @param onRefused called for each turn that may not start */
  constructor(onRefused: (reason: StartRefusal) => void) {
    this.#onRefused = onRefused;
  }

  /**
   * Waits until a turn of the workspace may start. Returns a function to call once it has started or failed; repeated calls have no effect.
   * Throws RESOURCE_EXHAUSTED with the code `overloaded` if too many turns of the workspace wait, or this one has waited for 10 s.
   */
  async begin(workspaceId: string): Promise<() => void> {
    const workspace = this.#workspaces.get(workspaceId) ?? { starting: 0, waiters: new Set() };
    this.#workspaces.set(workspaceId, workspace);
    const { waiters } = workspace;
    if (waiters.size >= MAX_WAITING_OF_WORKSPACE) throw this.#refuse(workspace);
    if (waiters.size === 0 && this.#hasRoom(workspace)) this.#count(workspace, 1);
    else await this.#wait(workspaceId, workspace);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count(workspace, -1);
      this.#beginNext();
      this.#forgetIfIdle(workspaceId, workspace);
    };
  }

  #hasRoom({ starting }: WorkspaceStarts): boolean {
    return starting < MAX_STARTING_OF_WORKSPACE && this.#starting < MAX_STARTING;
  }

  #count(workspace: WorkspaceStarts, change: 1 | -1): void {
    workspace.starting += change;
    this.#starting += change;
  }

  #wait(workspaceId: string, workspace: WorkspaceStarts): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        workspace.waiters.delete(begin);
        this.#forgetIfIdle(workspaceId, workspace);
        reject(this.#refuse(workspace));
      }, MAX_WAIT_MS);
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      workspace.waiters.add(begin);
    });
  }

  /** Begins a waiting turn of the next workspace that may start one. */
  #beginNext(): void {
    for (const [workspaceId, workspace] of this.#workspaces) {
      const [oldest] = workspace.waiters;
      if (oldest === undefined || !this.#hasRoom(workspace)) continue;
      workspace.waiters.delete(oldest);
      this.#workspaces.delete(workspaceId);
      this.#workspaces.set(workspaceId, workspace);
      this.#count(workspace, 1);
      oldest();
      return;
    }
  }

  #forgetIfIdle(workspaceId: string, { starting, waiters }: WorkspaceStarts): void {
    if (starting === 0 && waiters.size === 0) this.#workspaces.delete(workspaceId);
  }

  #refuse({ starting }: WorkspaceStarts): RpcError {
    this.#onRefused(starting >= MAX_STARTING_OF_WORKSPACE ? "workspace" : "overload");
    return new RpcError(status.RESOURCE_EXHAUSTED, "overloaded", "too many turns wait to be started");
  }
}

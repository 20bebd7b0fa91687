import type { Interceptor } from "@parley/rpc";
import type { Shard } from "@parley/service-kit";
import { listDeletedIds } from "./deletions.store.ts";

/** How often a replica reads the deleted workspaces. With the edge's cache of keys (4 s), a deletion applies within 5 s. */
export const READ_DELETED_INTERVAL_MS = 1_000;

/** No workspace can have this id, so every handler responds as for an unknown workspace. */
const UNKNOWN_WORKSPACE = "deleted workspace";

/**
 * CloseTurn stores the outcome of an open turn even if the turn's workspace has been deleted since. EraseVisitor erases what is left of a visitor
 * during the grace period, also because a restored workspace would otherwise still have it.
 */
const EXEMPT_METHODS: ReadonlySet<string> = new Set([
  "parley.conversation.v1.ConversationService/CloseTurn",
  "parley.conversation.v1.SessionAdminService/EraseVisitor",
]);

/**
 * Caches the ids of the deleted workspaces of all shards. Periodic tasks refresh them with read(), so a call is checked without a query, even while
 * the database is unavailable.
 */
export class DeletedWorkspaces {
  readonly #shards: readonly Shard[];
  /** By the shard's number. A shard has no entry before its first successful read. */
  readonly #ids: ReadonlySet<string>[] = [];
  #firstReads: Promise<unknown> | undefined;

  constructor(shards: readonly Shard[]) {
    this.#shards = shards;
  }

  /** Reads the deleted workspaces of one shard. */
  async read({ number, database }: Shard): Promise<void> {
    this.#ids[number] = new Set(await listDeletedIds(database));
  }

  /**
   * Returns whether a workspace is deleted. Waits for the database only before the first successful read. With several shards, does not wait again for
   * one that did not respond: calls for its workspaces fail anyway.
   */
  async has(workspaceId: string): Promise<boolean> {
    if (!this.#hasReadAll()) {
      this.#firstReads ??= this.#readAll();
      await this.#firstReads;
    }
    return this.#ids.some((ids) => ids.has(workspaceId));
  }

  #hasReadAll(): boolean {
    return this.#shards.every(({ number }) => this.#ids[number] !== undefined);
  }

  /** Throws if no shard responds. The next call of has() then reads again. */
  async #readAll(): Promise<void> {
    try {
      const reads = this.#shards.map((shard) => this.read(shard));
      await Promise.allSettled(reads);
      await Promise.any(reads);
    } catch (error) {
      this.#firstReads = undefined;
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }

  /** Makes the data plane respond to calls for a deleted workspace as for an unknown one. */
  readonly treatAsUnknown: Interceptor = async ({ method, request }, next) => {
    const fields = request as { workspaceId?: unknown };
    const { workspaceId } = fields;
    if (typeof workspaceId === "string" && !EXEMPT_METHODS.has(method) && (await this.has(workspaceId)))
      fields.workspaceId = UNKNOWN_WORKSPACE;
    await next();
  };
}

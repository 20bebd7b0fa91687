import type { Interceptor } from "@parley/rpc";
import type { Database } from "@parley/service-kit";
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
 * Caches the ids of the deleted workspaces. A periodic task refreshes them with read(), so a call is checked without a query, even while the
 * database is unavailable.
 */
export class DeletedWorkspaces {
  readonly #database: Database;
  #ids: ReadonlySet<string> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async read(): Promise<ReadonlySet<string>> {
    this.#ids = new Set(await listDeletedIds(this.#database));
    return this.#ids;
  }

  /** Returns whether a workspace is deleted. Waits for the database only before the first successful read. */
  async has(workspaceId: string): Promise<boolean> {
    const ids = this.#ids ?? (await this.read());
    return ids.has(workspaceId);
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

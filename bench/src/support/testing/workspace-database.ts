import { randomUUID } from "node:crypto";
import { createDatabase, queryRows, startTestPostgres } from "@parley/test-support";
import { onTestFinished } from "vitest";
import { runMigrations, SERVICE_ROLE_PASSWORD, SERVICES_WITH_DATABASE } from "../../../../tests/system/processes.ts";

/** Creates a migrated database with a workspace and its bot. Returns the database's URL. Drops the database when the test has finished. */
export async function createWorkspaceDatabase(workspaceId: string): Promise<string> {
  // Starts a separate server, because all databases of a server share its roles, and the migrations set the roles' passwords.
  const server = await startTestPostgres();
  onTestFinished(() => server.stop());
  const { url, drop } = await createDatabase(undefined, { serverUrl: server.url });
  onTestFinished(drop);
  await Promise.all(SERVICES_WITH_DATABASE.map((name) => runMigrations(name, url, SERVICE_ROLE_PASSWORD)));
  await queryRows(url, "INSERT INTO quota.workspaces (workspace_id, name, plan) VALUES ($1, $1, 'free')", [
    workspaceId,
  ]);
  await queryRows(
    url,
    `INSERT INTO conversation.bots (workspace_id, bot_id, slug, settings, display)
     VALUES ($1, $2, 'bot', '{"model": "builtin:echo"}', '{}')`,
    [workspaceId, randomUUID()],
  );
  return url;
}
